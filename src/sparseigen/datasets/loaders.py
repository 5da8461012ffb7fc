"""Data sets as arrays: PitProps, which is embedded, and the gene data of the paper, read from the data folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.config import require
from sparseigen.datasets.catalogue import data_folder
from sparseigen.errors import MissingDataError
from sparseigen.operators import Operator, as_operator

NAMES = (
    "topdiam", "length", "moist", "testsg", "ovensg", "ringtop", "ringbut",
    "bowmax", "bowdist", "whorls", "clear", "knots", "diaknot",
)  # fmt: skip

# The strictly lower triangle of PitProps, row by row, in thousandths as published: J. N. R. Jeffers, "Two case studies
# in the application of principal component analysis", Applied Statistics 16 (1967), 225-236.
# fmt: off
LOWER_TRIANGLE = (
    954,
    364, 297,
    342, 284, 882,
    -129, -118, -148, 220,
    313, 291, 153, 381, 364,
    496, 503, -29, 174, 296, 813,
    424, 419, -54, -59, 4, 90, 372,
    592, 648, 125, 137, -39, 211, 465, 482,
    545, 569, -81, -14, 37, 274, 679, 557, 526,
    84, 76, 162, 97, -91, -36, -113, 61, 85, -319,
    -19, -36, 220, 169, -145, 24, -232, -357, -127, -368, 29,
    134, 144, 126, 15, -208, -329, -424, -202, -76, -291, 7, 184,
)
# fmt: on


@dataclass(frozen=True)
class Dataset:
    """A symmetric matrix with names and, where known, the number of samples behind it.

    Examples
    --------
    >>> from sparseigen.datasets import load_pitprops
    >>> pitprops = load_pitprops()
    >>> pitprops.n_samples, float(pitprops.frame().loc["topdiam", "length"])
    (180, 0.954)
    """

    name: str
    matrix: NDArray[np.float64]
    names: tuple[str, ...]
    n_samples: int | None
    description: str

    def frame(self) -> Any:
        """The matrix as a pandas DataFrame with the names on both axes."""
        pandas = require("pandas", purpose="Dataset.frame()")
        return pandas.DataFrame(self.matrix, index=list(self.names), columns=list(self.names))

    def operator(self) -> Operator:
        """The matrix as an operator that carries the names, without pandas."""
        operator = as_operator(self.matrix)
        operator.names = self.names
        return operator


def load_pitprops() -> Dataset:
    """Correlations of 13 measurements on 180 pit props of Corsican pine (Jeffers 1967).

    Examples
    --------
    >>> from sparseigen.datasets import load_pitprops
    >>> pitprops = load_pitprops()
    >>> pitprops.matrix.shape, pitprops.names[0]
    ((13, 13), 'topdiam')
    """
    matrix = np.eye(len(NAMES))
    rows, columns = np.tril_indices(len(NAMES), -1)
    matrix[rows, columns] = matrix[columns, rows] = np.array(LOWER_TRIANGLE) / 1000.0
    description = "Correlation matrix of 13 measurements on 180 pit props (Jeffers 1967)"
    return Dataset("pitprops", matrix, NAMES, 180, description)


def _find_file(*parts: str) -> Path:
    path = data_folder().joinpath(*parts)
    if not path.is_file():
        message = f"{path} does not exist; the data folder is incomplete. Check SPARSEIGEN_DATA."
        raise MissingDataError(message)
    return path


def load_gene_covariance(name: str) -> NDArray[np.float64]:
    """The 500-gene covariance behind the paper's figure: ``name`` is "colon" or "lymphoma".

    Examples
    --------
    >>> from sparseigen.datasets import load_gene_covariance
    >>> load_gene_covariance("colon").shape
    (500, 500)
    """
    with np.load(_find_file(name, "authors_covariance_500.npz"), allow_pickle=False) as archive:
        key = next(key for key in archive.files if archive[key].ndim == 2)
        return np.asarray(archive[key], dtype=np.float64)


def load_gene_curve(name: str) -> dict[str, NDArray[np.float64]]:
    """The authors' curve for k = 1..500: column name to values.

    Examples
    --------
    >>> from sparseigen.datasets import load_gene_curve
    >>> sorted(load_gene_curve("lymphoma"))[-1]
    'tpower_variance_share'
    """
    path = _find_file(name, "authors_curve.csv")
    header = path.read_text().splitlines()[0].split(",")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return {column: table[:, i] for i, column in enumerate(header)}
