"""python -m benchmarks.choosing [planted] [noise] [fresh] [speed] [real] [paths]: all when none is named."""

from __future__ import annotations

import argparse
import secrets
import sys

from benchmarks.choosing import tables
from benchmarks.timing import machine

PARTS = ("planted", "noise", "fresh", "speed", "real", "paths")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.choosing", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="few repeats, about two minutes")
    parser.add_argument(
        "--seed", type=int, help="of all that is drawn; without it a new one each time, which is printed"
    )
    given = parser.parse_args(arguments)
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"{part!r} is not a part; choose from {', '.join(PARTS)}")
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    quick = given.quick
    print(f"{machine()}; --seed {seed}")
    shows = {
        "planted": lambda: tables.show_planted(4 if quick else 24, seed),
        "noise": lambda: tables.show_noise(0.1 if quick else 1.4, seed),
        "fresh": lambda: tables.show_fresh(24 if quick else 240, seed),
        "speed": lambda: tables.show_speed(3 if quick else 7, seed),
        "real": tables.show_real,
        "paths": lambda: tables.show_paths(6 if quick else 20),
    }
    holds = {part: shows[part]() for part in given.parts or PARTS}
    for part, held in holds.items():
        print(f"{'PASS' if held else 'MISS'} {part}")
    return int(not all(holds.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
