"""Data sets that do not ship with the package, read from a folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import MissingDataError


def data_folder() -> Path:
    """The folder with the real data sets.

    Raises
    ------
    MissingDataError
        If there is none; the message says how to point to one.

    Examples
    --------
    >>> from sparseigen.datasets import data_folder
    >>> data_folder().joinpath("README.md").is_file()
    True
    """
    named = os.environ.get("SPARSEIGEN_DATA")
    folder = Path(named) if named else Path.cwd().parent / "shared" / "data"
    if not folder.is_dir():
        message = f"the data folder {folder} does not exist; set SPARSEIGEN_DATA to the folder with the data sets."
        raise MissingDataError(message)
    return folder


def _file(*parts: str) -> Path:
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
    with np.load(_file(name, "authors_covariance_500.npz"), allow_pickle=False) as archive:
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
    path = _file(name, "authors_curve.csv")
    header = path.read_text().splitlines()[0].split(",")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return {column: table[:, i] for i, column in enumerate(header)}
