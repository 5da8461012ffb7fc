"""Choose the versions and hashes of the development environment: ``make lock`` (``LOCKS=oldest``: that file alone).

``requirements/dev.txt`` holds the newest versions for Python 3.11 and later on every platform, which ``make`` installs
with ``--require-hashes``. ``requirements/oldest.txt`` holds the oldest that pyproject.toml allows, for Python 3.11 on
Linux, which ``make test-oldest`` installs. Neither file names where packages come from: that is the reader's affair.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMON = ("--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links",
          "--no-annotate", "--no-header", "--upgrade", "--quiet")  # fmt: skip
LOCKS = {
    "dev": ("--universal", "--extra", "test", "--extra", "lint", "pyproject.toml", "requirements/dev.in"),
    "oldest": ("--resolution", "lowest-direct", "--python-platform", "x86_64-manylinux_2_28", "--extra", "test",
               "pyproject.toml", "requirements/oldest.in"),
}  # fmt: skip
"""File -> what is locked in it."""


def check(text: str) -> int:
    """The number of packages; every one has a hash, and no line says where it comes from."""
    packages = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    blocks = text.replace("\\\n", " ").splitlines()
    bare = [
        block.split()[0] for block in blocks if block.strip() and not block.startswith("#") and "--hash" not in block
    ]
    if bare or "://" in text or any(line.startswith("-") for line in packages):
        sys.exit(f"lock: packages without a hash, or an address in the file: {bare}")
    return len(packages)


def main() -> None:
    """Write and check every file, or those named."""
    chosen = sys.argv[1:] or list(LOCKS)
    if unknown := set(chosen) - set(LOCKS):
        sys.exit(f"lock: no such file: {', '.join(sorted(unknown))}; there are {' and '.join(LOCKS)}")
    for name in chosen:
        arguments = LOCKS[name]
        out = ROOT / "requirements" / f"{name}.txt"
        uv = (str(Path(sys.executable).with_name("uv")), "pip", "compile", *COMMON, *arguments, "--output-file")
        subprocess.run([*uv, str(out)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        count = check(out.read_text())
        out.write_text(
            f"# Made by `make lock` from pyproject.toml and {name}.in: {count} packages. Do not edit.\n"
            + out.read_text()
        )
        print(f"requirements/{name}.txt: {count} packages, each with hashes")


if __name__ == "__main__":
    main()
