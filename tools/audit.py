"""Known vulnerabilities of the locked packages: ``make audit``.

pip-audit asks an advisory service. Where the service does not answer, or does not know a package, nothing was audited,
and that is a failure here: pip-audit alone would report "no known vulnerabilities". Some mirrors of the index have the
page of a project but not those of its versions; the former tells what is known of the newest release, so that packages
locked at their newest are audited there too, and the others are named.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import requests
from packaging.version import Version
from pip_audit._service.interface import ResolvedDependency, ServiceError
from pip_audit._service.pypi import PyPIService

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("pypi", "osv")
NEWEST = "pypi, newest releases"
# An abandoned package with advisories that nobody will mend: where its page has none, the pages carry no advisories.
KNOWN_BAD = "pycrypto==2.6.1"


def requirements() -> list[str]:
    """The locked packages without hashes and markers: every one is asked about, whatever this machine would install."""
    lines = (ROOT / "requirements" / "dev.txt").read_text().splitlines()
    return [line.split(" --hash")[0].split(";")[0].strip() for line in lines if line and line[0] != "#"]


def ask(service: str, pinned: list[str]) -> tuple[dict[str, list[str]], str]:
    """Advisories by audited package, and why there are none where the service gave no answer."""
    found: dict[str, list[str]] = {}
    # One version of a name at a time: pip-audit refuses a file that names a package twice.
    rounds: list[dict[str, str]] = []
    for pin in pinned:
        name = pin.split("==")[0]
        pins = next((pins for pins in rounds if name not in pins), None)
        if pins is None:
            rounds.append(pins := {})
        pins[name] = pin
    for pins in rounds:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(pins.values()))
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


def ask_newest(pinned: list[str]) -> tuple[dict[str, list[str]], str]:
    """The same of packages that are locked at their newest release, from the pages of projects."""
    service = PyPIService(timeout=60)
    page_of = service.session.get
    found: dict[str, list[str]] = {}
    for pin in [KNOWN_BAD, *pinned]:
        name, version = pin.split("==")

        def page_of_project(url: str, timeout: int, version: str = version) -> requests.Response:
            answer = page_of(url=url.replace(f"/{version}/json", "/json"), timeout=timeout)
            if answer.ok and answer.json()["info"]["version"] != version:
                answer.status_code = requests.codes.not_found
            return answer

        service.session.get = page_of_project
        try:
            package, advisories = service.query(ResolvedDependency(name, Version(version)))
        except (requests.RequestException, ServiceError) as error:
            return {}, f"no answer: {error}"[:200]
        if not package.is_skipped():
            found[pin] = [advisory.id for advisory in advisories]
    if not found.pop(KNOWN_BAD, None):
        return {}, f"its pages carry no advisories: {KNOWN_BAD} has some"
    return found, "" if len(found) == len(pinned) else "not the newest release"


def main() -> None:
    """Ask one service after another until every package is known to one."""
    pinned = requirements()
    audited: dict[str, list[str]] = {}
    for service in (*SERVICES, NEWEST):
        left = [pin for pin in pinned if pin not in audited]
        if not left:
            break
        found, reason = ask_newest(left) if service == NEWEST else ask(service, left)
        audited |= found
        vulnerable = {name: ids for name, ids in found.items() if ids}
        print(f"{service}: {len(found)} of {len(left)} packages audited, {len(vulnerable)} with known vulnerabilities")
        for name, ids in vulnerable.items():
            print(f"  {name}: {', '.join(ids)}")
        if vulnerable:
            sys.exit("audit: raise the versions above in pyproject.toml or requirements/dev.in, then run: make lock")
        if len(found) < len(left):
            print(f"  {len(left) - len(found)} packages NOT audited: {reason}")
    left = [pin for pin in pinned if pin not in audited]
    print(f"audit: {len(audited)} of {len(pinned)} locked packages audited, 0 with known vulnerabilities")
    if left:
        sys.exit(
            f"audit: NOT DONE for {len(left)}: {', '.join(left)}. Run it where an advisory service can be reached."
        )
    print("audit: clean")


if __name__ == "__main__":
    main()
