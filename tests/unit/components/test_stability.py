"""How often variables are chosen when the data are resampled."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen import errors
from sparseigen.components import SelectionStability, selection_stability
from sparseigen.errors import OptionError


@pytest.fixture
def data(rng):
    return rng.standard_normal((40, 6)) + 2.0 * rng.standard_normal((40, 1)) * (np.arange(6) < 3)


def test_stability_tells_true_variables_from_noise(rng) -> None:
    data = rng.standard_normal((100, 20)) + 2.0 * rng.standard_normal((100, 1)) * (np.arange(20) < 4)
    found = selection_stability(data, 6, n_resamples=20, rng=1)
    assert set(found.stable(threshold=0.95)) == {0, 1, 2, 3}
    assert found.frequencies[0].sum() == pytest.approx(6.0)
    frame = found.to_frame()
    assert frame["frequency"].iloc[0] == 1.0
    with pytest.raises(OptionError, match=r"share=0.01 of 100 samples"):
        selection_stability(data, 6, share=0.01)
    with pytest.raises(OptionError, match="'auto'"):
        selection_stability(data, "auto")


def test_stability_of_a_choice(rng: np.random.Generator) -> None:
    data = rng.standard_normal((10, 4))
    with pytest.raises(errors.OptionError, match="cardinality='auto' would choose anew for every resample"):
        selection_stability(data, "auto")
    for share in (0.1, 1.2):
        with pytest.raises(errors.OptionError, match=r"of 10 samples is \d+; it must leave between 2 and 10"):
            selection_stability(data, 2, share=share)


def test_questions_about_stability(data):
    stability = selection_stability(data, 2, n_resamples=3)
    for component in (1, -2, "x", None, 0.0):
        with pytest.raises(errors.OptionError, match="component"):
            stability.stable(component)
    for threshold in ("x", None, float("nan"), -1):
        with pytest.raises(errors.OptionError, match="threshold"):
            stability.stable(threshold=threshold)


def test_stability_as_a_picture_and_a_table() -> None:
    stability = SelectionStability(np.array([[0.5, 1.0, 0.0]]), np.array([[False, True, False]]), 4, ("a", "b", "c"))
    assert stability.to_table()[1] == [[1, "b", 1.0, True], [1, "a", 0.5, False]]
    assert stability.to_dict(0) == {"resamples": 4, "frequencies": {"b": 1.0, "a": 0.5}}
    assert list(stability.plot().data[0].x) == [0.5, 1.0]
