"""What is in the sdist and the wheel, and in the compiled objects: part of ``make wheel-test``."""

from __future__ import annotations

import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tools.wheel_steps import ROOT, Counts, run

IN_WHEEL = re.compile(
    r"sparseigen/(\w+/)*\w+\.py|sparseigen/py\.typed|sparseigen/kernels/_compiled\.(pyi|[\w.-]+\.(so|pyd))"
    r"|sparseigen/report/page_parts/\w+\.(html|js|css)|sparseigen-[\w.]+\.dist-info/[\w/.]+"
)
IN_SDIST = re.compile(
    r"(src|tests|docs|benchmarks|fuzzing|tools|requirements)/.*|(conftest|setup)\.py|pyproject\.toml|CMakeLists\.txt|Makefile"
    r"|LICENSE|[A-Z]+\.md|PKG-INFO|\.gitignore|\.pre-commit-config\.yaml"
)
NEEDED = ("sparseigen/py.typed", "sparseigen/datasets/pitprops.py", "sparseigen/report/page_parts/base.html")
JUNK = re.compile(r"__pycache__|\.pyc$|\.so$|\.o$|(^|/)build/|_build/|auto_examples|\.venv|\.(csv|npz|parquet)$")
# The extension itself, and the points of the curves that a page of the documentation shows.
NOT_JUNK = re.compile(r"sparseigen/kernels/_compiled\.[\w.-]+|docs/reproduction/[\w.-]+\.csv")
# AVX and its successors (every mnemonic with a v but two), the bit instructions of the same generation.
NEWER = re.compile(
    r"\t(v(?!er[rw]\b)\w+|andn|bextr|bls\w+|bzhi|lzcnt|popcnt|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lq]?(\s|$)"
)


def check_names(what: str, names: list[str], allowed: re.Pattern[str], counts: Counts) -> None:
    """Every file is one that belongs there."""
    junk = {name for name in names if JUNK.search(name) and not NOT_JUNK.fullmatch(name)}
    wrong = [name for name in names if not allowed.fullmatch(name) or name in junk]
    if wrong:
        sys.exit(f"wheel-test: {what} holds files that do not belong there: {', '.join(wrong[:10])}")
    counts.add(f"{what}: {len(names)} files, none that does not belong there")


def check_no_paths(what: str, contents: dict[str, bytes], counts: Counts) -> None:
    """No file tells where it was built."""
    places = {str(ROOT), str(Path.home()), tempfile.gettempdir() + "/", sys.prefix}
    for name, content in contents.items():
        for place in places - {"/"}:
            # Source files may name a folder for temporary files in an example; a path below the checkout they may not.
            if place.encode() in content and (name.endswith((".so", "RECORD", "METADATA")) or place == str(ROOT)):
                sys.exit(f"wheel-test: {name} in {what} contains the path {place}")
    counts.add(f"{what}: no path of this machine in {len(contents)} files")


def check_contents(sdist: Path, wheel: Path, counts: Counts) -> None:
    """What is in both archives."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    with tarfile.open(sdist) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        in_sdist = {member.name.split("/", 1)[1]: archive.extractfile(member).read() for member in files}  # type: ignore[union-attr]
    check_names("wheel", list(in_wheel), IN_WHEEL, counts)
    check_names("sdist", list(in_sdist), IN_SDIST, counts)
    licence = [name for name in in_wheel if name.endswith("dist-info/licenses/LICENSE")]
    missing = [name for name in NEEDED if name not in in_wheel] + ([] if licence else ["the licence"])
    missing += [f"src/{name}" for name in in_wheel if name.endswith(".py") and f"src/{name}" not in in_sdist]
    if missing:
        sys.exit(f"wheel-test: missing: {', '.join(missing)}")
    check_no_paths("wheel", in_wheel, counts)
    check_no_paths("sdist", in_sdist, counts)


def check_baseline(objects: Path, counts: Counts) -> None:
    """Outside the versions that the loader chooses, no instruction that the oldest processor lacks."""
    if shutil.which("objdump") is None:
        counts.add("instructions: NOT CHECKED, there is no objdump")
        return
    functions = wide = 0
    for part in sorted(objects.rglob("*.o")):
        name, dispatched = "", False
        for line in run("objdump", "-d", "--no-show-raw-insn", part).splitlines():
            if head := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line):
                name = head[1]
                dispatched = bool(re.search(r"\.(avx2|avx512f|arch_\w+)(\.|$)", name))
                functions += 1
                wide += dispatched
            elif not dispatched and NEWER.search(line):
                sys.exit(f"wheel-test: {part.name}: {name} has an instruction of newer processors:{line}")
    if functions == 0:
        sys.exit(f"wheel-test: no compiled objects below {objects}")
    counts.add(f"instructions: {functions} functions, AVX in none but the {wide} versions chosen at run time")
