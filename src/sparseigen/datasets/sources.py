"""Where data sets are published: addresses, checksums, and how large a file may be at most."""

from __future__ import annotations

from typing import NamedTuple

from sparseigen.errors import InputError, one_of

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


def _web_graph(name: str, nodes: int, arcs: int, sha256: str | None = None) -> Source:
    # A BV file takes far less than 32 bits an arc, so anything larger is not the graph.
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
    "cnr-2000": _web_graph(
        "cnr-2000", 325_557, 3_216_152, "ea2b11787a3baca4533bdbe9124720c7fed2c698ba8ce289c7c1a84fae4986fa"
    ),
    "amazon-2008": _web_graph("amazon-2008", 735_323, 5_158_388),
    "ljournal-2008": _web_graph("ljournal-2008", 5_363_260, 79_023_142),
    "hollywood-2009": _web_graph("hollywood-2009", 1_139_905, 113_891_327),
}
"""Name -> source. Other data sets of the catalogue have no public address that could be relied on."""


def source_of(name: str) -> Source:
    """The source of a data set.

    Examples
    --------
    >>> source_of("cnr-2000").files[1].url
    'http://data.law.di.unimi.it/webdata/cnr-2000/cnr-2000.graph'
    """
    if name not in SOURCES:
        message = f"{name!r} cannot be fetched: no public address is known. Allowed are {one_of(SOURCES)}."
        raise InputError(message)
    return SOURCES[name]


def address(file: RemoteFile, name: str, base_url: str | None) -> str:
    """Where to get a file: its published address, or the same file of a mirror.

    Examples
    --------
    >>> address(source_of("cnr-2000").files[1], "cnr-2000", "https://mirror.example/data/")
    'https://mirror.example/data/cnr-2000/cnr-2000.graph'
    """
    return file.url if base_url is None else f"{base_url.rstrip('/')}/{name}/{file.name}"
