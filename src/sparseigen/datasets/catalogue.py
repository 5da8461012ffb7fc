"""What data sets there are: their files in the data folder, where they are published, and checksums.

The data folder is ``SPARSEIGEN_DATA`` if that is set, else the user's cache folder (``~/.cache/sparseigen`` on Linux).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from sparseigen.config import is_installed
from sparseigen.errors import InputError, MissingDataError, one_of

DATA = "SPARSEIGEN_DATA"
"""Environment variable with the data folder."""


class Entry(NamedTuple):
    """One data set of the folder: its files, what they are, and a command that reads them."""

    files: tuple[str, ...]
    description: str
    command: str


CATALOGUE: dict[str, Entry] = {
    "pitprops": Entry(
        ("pitprops/pitprops_correlation.csv",),
        "13 measurements on 180 pit props, correlations (Jeffers 1967); also inside the package",
        "sparseigen pca {0} --covariance -k 7,2,1,1,1,1",
    ),
    "colon": Entry(
        ("colon/colon_62x2000.csv.gz", "colon/authors_covariance_500.npz"),
        "62 tissue samples x 2000 genes, tumor and normal (Alon et al. 1999)",
        "sparseigen pca {0} --label tissue -k 20 -n 3",
    ),
    "lymphoma": Entry(
        ("lymphoma/lymphoma_62x4026_standardised.npz", "lymphoma/authors_covariance_500.npz"),
        "62 samples x 4026 genes, three kinds of lymphoma (Alizadeh et al. 2000)",
        "sparseigen pca {0} --label label -k 20 -n 3",
    ),
    "newsgroups20": Entry(
        ("newsgroups20/counts_18846x5000.npz", "newsgroups20/vocabulary.csv"),
        "18,846 messages x 5000 terms, counts (Lang 1995)",
        "sparseigen pca {0} --names {1}:term -k 10 -n 5",
    ),
    "airline": Entry(
        ("airline/weights.csv.gz", "airline/cities.csv"),
        "456 cities, inverse travel times between them, with latitude and longitude",
        "sparseigen dks {0} -k 30 --vertices {1}",
    ),
    "cnr-2000": Entry(
        ("cnr-2000/cnr-2000.graph", "cnr-2000/cnr-2000.properties"),
        "325,557 web pages, 3,216,152 links (Laboratory for Web Algorithmics)",
        "sparseigen dks {0} -k 100",
    ),
    "amazon-2008": Entry(
        ("amazon-2008/amazon-2008.graph", "amazon-2008/amazon-2008.properties"),
        "735,323 books, 5,158,388 links to similar ones (Laboratory for Web Algorithmics)",
        "sparseigen dks {0} -k 100",
    ),
    "ljournal-2008": Entry(
        ("ljournal-2008/ljournal-2008.graph", "ljournal-2008/ljournal-2008.properties"),
        "5,363,260 users of LiveJournal, 79,023,142 friendships (Laboratory for Web Algorithmics)",
        "sparseigen dks {0} -k 100",
    ),
    "hollywood-2009": Entry(
        ("hollywood-2009/hollywood-2009.graph", "hollywood-2009/hollywood-2009.properties"),
        "1,139,905 actors, 113,891,327 arcs between those of one film (Laboratory for Web Algorithmics)",
        "sparseigen dks {0} -k 100",
    ),
    "air-routes": Entry(
        ("air_routes/us2008_flight_counts.csv", "air_routes/us2008_airports.csv"),
        "flights of 2008 between 305 US airports, with latitude and longitude",
        "sparseigen dks {0} -k 10 --vertices {1}",
    ),
}
"""Name -> entry. A new data set is a row here."""


LAW = "http://data.law.di.unimi.it/webdata"
"""Files of the Laboratory for Web Algorithmics, Milan: NAME/NAME.graph, .properties and a list .md5sums."""


class RemoteFile(NamedTuple):
    """One published file."""

    name: str
    url: str
    largest: int
    """More bytes than this are refused, whatever the server says."""
    sha256: str | None = None
    must_say: tuple[str, ...] = ()
    """Lines that a small text file must hold to be the right one."""


class Source(NamedTuple):
    """The published files of one data set."""

    files: tuple[RemoteFile, ...]
    publisher: str
    md5_list: RemoteFile | None = None
    """The publisher's own list of checksums: it finds damage on the way, it proves no origin."""
    unpacked: str | None = None
    """Name of the folder that an archive becomes; the archive itself is not kept."""


def _describe_web_graph(name: str, nodes: int, arcs: int, sha256: str | None = None) -> Source:
    # A BV file takes far less than 32 bits per arc, so anything larger is not the graph.
    return Source(
        (
            RemoteFile(
                f"{name}.properties",
                f"{LAW}/{name}/{name}.properties",
                2**16,
                must_say=(f"nodes={nodes}", f"arcs={arcs}"),
            ),
            RemoteFile(f"{name}.graph", f"{LAW}/{name}/{name}.graph", 4 * arcs, sha256),
        ),
        "Laboratory for Web Algorithmics, law.di.unimi.it; cite Boldi and Vigna (2004) and Boldi, Rosa, Santini and "
        "Vigna (2011)",
        RemoteFile(f"{name}.md5sums", f"{LAW}/{name}/{name}.md5sums", 2**16),
    )


SOURCES: dict[str, Source] = {
    "newsgroups20": Source(
        (
            RemoteFile(
                "20news-bydate.tar.gz",
                "https://ndownloader.figshare.com/files/5975967",
                2**25,
                "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            ),
        ),
        "the copy that scikit-learn's fetch_20newsgroups uses, with its checksum; cite Lang (1995)",
        unpacked="20news-bydate",
    ),
    "cnr-2000": _describe_web_graph(
        "cnr-2000", 325_557, 3_216_152, "ea2b11787a3baca4533bdbe9124720c7fed2c698ba8ce289c7c1a84fae4986fa"
    ),
    "amazon-2008": _describe_web_graph("amazon-2008", 735_323, 5_158_388),
    "ljournal-2008": _describe_web_graph("ljournal-2008", 5_363_260, 79_023_142),
    "hollywood-2009": _describe_web_graph("hollywood-2009", 1_139_905, 113_891_327),
}
"""Name -> source. Other data sets of the catalogue have no public address that could be relied on."""


def data_folder() -> Path:
    """The folder with the real data sets: ``SPARSEIGEN_DATA`` if that is set, else the user's cache folder.

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
    folder = find_folder()
    if folder is None or not folder.is_dir():
        named = "" if folder is None else f" {folder}"
        message = f"the data folder{named} does not exist; set SPARSEIGEN_DATA to the folder with the data sets."
        raise MissingDataError(message)
    return folder


def find_folder() -> Path | None:
    """Where the data folder is or would be; None where no variable names it and pooch, which fills it, is missing."""
    if named := os.environ.get(DATA):
        return Path(named)
    if not is_installed("pooch"):
        return None
    import pooch

    return Path(pooch.os_cache("sparseigen"))


def paths_of(entry: Entry, folder: Path) -> list[Path]:
    """The files of a data set."""
    return [folder.joinpath(*name.split("/")) for name in entry.files]


def is_there(entry: Entry, folder: Path | None) -> bool:
    """Whether all files of a data set are in the folder."""
    return folder is not None and all(path.is_file() for path in paths_of(entry, folder))


def find_source(name: str) -> Source:
    """The source of a data set.

    Examples
    --------
    >>> find_source("cnr-2000").files[1].url
    'http://data.law.di.unimi.it/webdata/cnr-2000/cnr-2000.graph'
    """
    if name not in SOURCES:
        message = f"{name!r} cannot be fetched: no public address is known. Allowed are {one_of(SOURCES)}."
        raise InputError(message)
    return SOURCES[name]


def build_address(file: RemoteFile, name: str, base_url: str | None) -> str:
    """Where to get a file: its published address, or the same file of a mirror.

    Examples
    --------
    >>> build_address(find_source("cnr-2000").files[1], "cnr-2000", "https://mirror.example/data/")
    'https://mirror.example/data/cnr-2000/cnr-2000.graph'
    """
    return file.url if base_url is None else f"{base_url.rstrip('/')}/{name}/{file.name}"
