"""The C++ core under the address, undefined-behaviour and thread sanitizers: `make sanitize`.

First the sanitizers themselves are tried on a program that is broken on purpose. Then the thread pool and all kernels
that use it run under the thread sanitizer, and the extension, built anew with the other two, under its tests and under
the fuzzers of readers and certificates. Everything is built under build/sanitize; what the tests need is taken from
the environment this runs in. Linux, gcc.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "sanitize"
SOURCES = ROOT / "src" / "cpp"
COMPILER = os.environ.get("CXX", "g++")
TESTS = ("tests/unit/kernels", "tests/unit/io/test_graph_files.py",
         "tests/unit/operators/test_screening.py", "tests/unit/certificates/test_scaled_rows.py",
         "tests/unit/checks/test_sparse.py", "tests/property/test_graph_properties.py")  # fmt: skip
THREADED = ("dense", "sparse", "selection", "screening", "bounds", "symmetric", "graph_order", "graph_search")
FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}
BROKEN = (("address", "overflow", "heap-buffer-overflow"), ("address", "freed", "heap-use-after-free"),
          ("address", "undefined", "signed integer overflow"), ("thread", "race", "data race"))  # fmt: skip


class Failed(Exception):
    """Something that a sanitizer found, or a test."""


def _run(command: list[str], what: str, **options: object) -> str:
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )  # type: ignore[call-overload]
    if done.returncode:
        raise Failed(f"{what} failed with status {done.returncode}:\n{done.stdout[-6000:]}")
    return str(done.stdout)


def _program(name: str, kind: str, sources: list[Path]) -> Path:
    target = BUILD / f"{name}-{kind}"
    flags = [
        "-std=c++17",
        "-g",
        "-O1",
        "-fno-omit-frame-pointer",
        "-pthread",
        f"-I{SOURCES}",
    ]
    _run([COMPILER, *flags, *FLAGS[kind], *map(str, sources), "-o", str(target)], f"building {name}")
    return target


def check_sanitizers() -> str:
    """Every kind of mistake must be reported in a program that makes it."""
    programs = {kind: _program("broken", kind, [ROOT / "fuzzing" / "cpp" / "broken.cpp"]) for kind in FLAGS}
    for kind, mistake, report in BROKEN:
        done = subprocess.run([programs[kind], mistake], capture_output=True, text=True, check=False)
        if done.returncode == 0 or report not in done.stderr:
            raise Failed(
                f"the {kind} sanitizer does not report {report!r} in a program that has it:\n{done.stderr[-2000:]}"
            )
        clean = subprocess.run([programs[kind], "nothing"], capture_output=True, text=True, check=False)
        if clean.returncode or clean.stderr:
            raise Failed(f"the {kind} sanitizer reports a program that does nothing:\n{clean.stderr[-2000:]}")
    return f"self-check: {len(BROKEN)} mistakes made on purpose, {len(BROKEN)} reported"


def check_races() -> list[str]:
    """The pool, and every kernel that uses it, under the thread sanitizer."""
    pool, kernels = [SOURCES / "thread_pool.cpp"], [SOURCES / f"{name}.cpp" for name in THREADED]
    programs = [
        _program(name, "thread", [ROOT / "fuzzing" / "cpp" / f"{name}.cpp", *pool, *more])
        for name, more in (("pool_stress", []), ("kernel_races", kernels))
    ]
    stop = os.environ | {"TSAN_OPTIONS": "halt_on_error=1"}
    return [
        _run([str(program)], f"{program.name} under the thread sanitizer", env=stop).strip() for program in programs
    ]


def build_extension() -> Path:
    """A virtual environment with the package and its sanitized extension; its Python."""
    place = BUILD / "venv"
    shutil.rmtree(place, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(place)], "making an environment")
    python = place / "bin" / "python"
    # Packages of this environment, but not its own sparseigen: paths from a .pth file are not searched for others.
    (Path(_site(python)) / "others.pth").write_text(_site(Path(sys.executable)) + "\n")
    more = ["--no-build-isolation"] if os.environ.get("SPARSEIGEN_NO_ISOLATION") == "1" else []
    installer = [sys.executable, "-m", "pip", "--python", str(python)]
    _run([*installer, "install", "--quiet", "--disable-pip-version-check", "--no-deps", *more,
          "-Ccmake.define.SPARSEIGEN_SANITIZE=ON", "-Ccmake.build-type=RelWithDebInfo",
          f"-Cbuild-dir={BUILD / 'cmake'}", "."],
         "building the extension")  # fmt: skip
    return python


def _site(python: Path) -> str:
    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def sanitized() -> dict[str, str]:
    """The environment in which Python loads the sanitizers before anything else."""
    libraries = [
        _run([COMPILER, f"-print-file-name={name}"], "asking the compiler").strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    return os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1:exitcode=99:detect_odr_violation=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "SPARSEIGEN_SANITIZED": "1",
        "SPARSEIGEN_NUM_THREADS": "4",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(ROOT),
    }


def check_extension(python: Path, minutes: float, seed: int) -> list[str]:
    """Tests and fuzzer with the sanitized extension."""
    environment = sanitized()
    code = "import sparseigen.kernels as k, sys; print(k.active.NAME, k._compiled.__file__)"
    loaded = _run([str(python), "-c", code], "loading the extension", env=environment)
    if not loaded.startswith("compiled") or str(BUILD) not in loaded:
        raise Failed(f"the extension that was loaded is not the sanitized one: {loaded}")
    told = _run([str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], "the tests", env=environment)
    counted = re.findall(r"\d+ passed.*", told)
    lines = [f"tests: {counted[-1] if counted else told[-200:]}"]
    for part in ("readers", "certificates"):
        command = [str(python), "-m", "fuzzing", part, "--minutes", str(minutes), "--seed", str(seed)]
        lines.append(_run(command, f"the fuzzer of {part}", env=environment).strip().splitlines()[-1])
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzzing sanitize", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="of each fuzzer")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    BUILD.mkdir(parents=True, exist_ok=True)
    try:
        print(check_sanitizers(), flush=True)
        print(*check_races(), sep="\n", flush=True)
        for line in check_extension(build_extension(), options.minutes, options.seed):
            print(line, flush=True)
    except Failed as failure:
        print(f"sanitize: FAILED\n{failure}")
        return 1
    print(f"sanitize: reports 0, {time.monotonic() - began:.0f} s")
    return 0
