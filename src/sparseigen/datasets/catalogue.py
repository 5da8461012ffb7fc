"""What real data there are, where they lie, and what can be asked of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


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


def paths_of(entry: Entry, folder: Path) -> list[Path]:
    """The files of a data set."""
    return [folder.joinpath(*name.split("/")) for name in entry.files]


def is_there(entry: Entry, folder: Path | None) -> bool:
    """Whether all files of a data set are in the folder."""
    return folder is not None and all(path.is_file() for path in paths_of(entry, folder))
