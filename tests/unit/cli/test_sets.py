"""``pca --constraint`` and ``--disjoint``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.running import check_refused, run


def test_a_set_has_one_sentence_and_one_certificate(pitprops: Path) -> None:
    asked = ("pca", pitprops, "--covariance", "-k", "4", "-n", "2", "--constraint", "orthogonal")
    text = run(*asked).stdout
    assert text.endswith("\nproven: no set of 2 x 4 orthogonal components explains more than this one, 40.4 %\n")
    answer = json.loads(run(*asked, "--json").stdout)
    assert answer["certificate"]["optimal"]
    assert answer["violation"] <= 1e-12
    assert answer["statement"] in text
    assert [len(component["support"]) for component in answer["components"]] == [4, 4]


def test_disjoint_components_share_no_variable(pitprops: Path, tmp_path: Path) -> None:
    asked = ("pca", pitprops, "--covariance", "-k", "3,2", "--disjoint", "--json", "--out", tmp_path / "out")
    answer = json.loads(run(*asked).stdout)
    first, second = (set(component["support"]) for component in answer["components"])
    assert answer["disjoint"]
    assert not first & second
    assert (tmp_path / "out" / "components.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--disjoint",),
            "--disjoint needs the number of variables of each component; add -k 4,4,4 or -k 4 -n 3.",
        ),
        (
            ("-k", "4,4", "--constraint", "uncorrelated", "--deflation", "hotelling", "--nonnegative"),
            "--constraint uncorrelated finds all components together; --nonnegative, --deflation is for one after the "
            "other, leave it out.",
        ),
        (
            ("-k", "4,4", "--disjoint", "--stability", "20"),
            "--disjoint finds all components together; --stability is for one after the other, leave it out.",
        ),
    ],
)
def test_what_does_not_go_with_a_set(arguments: tuple[str, ...], message: str, pitprops: Path) -> None:
    check_refused(run("pca", pitprops, "--covariance", *arguments), 2, message)
