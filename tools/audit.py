"""Known vulnerabilities of the locked packages: ``make audit``.

pip-audit asks an advisory service. Where the service does not answer, or does not know a package, nothing was audited,
and that is a failure here: pip-audit alone would report "no known vulnerabilities".
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("pypi", "osv")


def requirements() -> list[str]:
    """The locked packages without hashes and markers: every one is asked about, whatever this machine would install."""
    lines = (ROOT / "requirements" / "dev.txt").read_text().splitlines()
    return [line.rstrip("\\ ").split(";")[0].strip() for line in lines if line and line[0] not in "# "]


def ask(service: str, pinned: list[str]) -> tuple[dict[str, list[str]], str]:
    """Advisories by audited package, and why there are none where the service gave no answer."""
    found: dict[str, list[str]] = {}
    # One version of a name at a time: pip-audit refuses a file that names a package twice.
    rounds: list[dict[str, str]] = []
    for pin in pinned:
        name = pin.split("==")[0]
        home = next((one for one in rounds if name not in one), None)
        if home is None:
            rounds.append(home := {})
        home[name] = pin
    for one in rounds:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(one.values()))
            file.flush()
            command = [sys.executable, "-m", "pip_audit", "-s", service, "-f", "json", "--no-deps", "--disable-pip"]
            done = subprocess.run([*command, "-r", file.name], capture_output=True, text=True, check=False)
        try:
            packages = json.loads(done.stdout)["dependencies"]
        except (json.JSONDecodeError, KeyError):
            return found, (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]
        for package in packages:
            if "skip_reason" not in package:
                key = f"{package['name']}=={package['version']}"
                found[key] = [advisory["id"] for advisory in package["vulns"]]
    return found, "" if len(found) == len(pinned) else "the service does not know them"


def main() -> None:
    """Ask one service after another until one knows every package."""
    pinned = requirements()
    for service in SERVICES:
        found, reason = ask(service, pinned)
        vulnerable = {name: ids for name, ids in found.items() if ids}
        print(
            f"{service}: {len(found)} of {len(pinned)} packages audited, {len(vulnerable)} with known vulnerabilities"
        )
        for name, ids in vulnerable.items():
            print(f"  {name}: {', '.join(ids)}")
        if vulnerable:
            sys.exit("audit: raise the versions above in pyproject.toml or requirements/dev.in, then run: make lock")
        if len(found) == len(pinned):
            print("audit: clean")
            return
        print(f"  {len(pinned) - len(found)} packages NOT audited: {reason}")
    sys.exit("audit: NOT DONE, no advisory service answered for every package. Run it where one can be reached.")


if __name__ == "__main__":
    main()
