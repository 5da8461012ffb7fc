"""The file formats: which ending is read by which function, for tables, for blocks of rows and for graphs.

A new format is one row of FORMATS and one function for each use it has. Functions are named, not imported: what a
format needs is loaded with the first file of that format.
"""

from __future__ import annotations

import gzip
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import IO, Any, cast

from sparseigen.errors import InputError, MissingDependencyError, SparseigenError

OnProgress = Callable[[int, int], None]
"""Called as ``on_progress(done, total)`` while a large file is read: bytes, or nodes."""


@dataclass(frozen=True)
class Format:
    """One format; ``module:function`` for each use, empty where it has no such use."""

    name: str
    endings: tuple[str, ...]
    table: str = ""
    """Called as ``function(path, options)``, gives a `Table`."""
    rows: str = ""
    """Called as ``function(path, dataset)``, gives a `RowSource`."""
    graph: str = ""
    """Called as ``function(path, on_progress)``, gives a `Graph`; edge lists also take the name of the weight."""
    packed: bool = False
    """Whether files may be compressed: ``.gz`` behind the ending."""
    datasets: bool = False
    """Whether a file may hold several tables, one of which is chosen by ``dataset``."""


EDGES = "io.graph_files:read_edge_list"
FORMATS = (
    Format("text", (".csv", ".tsv"), table="io.text:read_text", graph=EDGES, packed=True),
    Format("edge list", (".edges", ".el"), graph=EDGES, packed=True),
    Format("edge list or bag of words", (".txt",), "rows.words:read_bag", "rows.words:open_words", EDGES, packed=True),
    Format("PLINK", (".bed",), table="rows.genotypes:read_calls", rows="rows.genotypes:open_bed"),
    Format("NumPy array", (".npy",), table="io.tables:read_npy", rows="rows.files:open_npy"),
    Format("NumPy archive", (".npz",), table="io.tables:read_npz", graph="io.graph_files:read_npz"),
    Format("Matrix Market", (".mtx",), "io.tables:read_mtx", graph="io.graph_files:read_mtx", packed=True),
    Format("parquet", (".parquet",), "io.tables:read_parquet", "rows.files:open_arrow", "io.graph_files:read_edges"),
    Format("Arrow IPC", (".arrow", ".feather", ".ipc"), "", "rows.files:open_arrow", "io.graph_files:read_edges"),
    Format("AnnData", (".h5ad",), table="io.tables:read_h5ad", rows="rows.hdf5:open_tables", datasets=True),
    Format("HDF5", (".h5", ".hdf5"), rows="rows.hdf5:open_tables", datasets=True),
    Format("zarr", (".zarr",), table="io.tables:read_zarr", rows="rows.zarr_stores:open_zarr", datasets=True),
    Format("Excel", (".xlsx",), table="io.tables:read_xlsx"),
    Format("GraphML", (".graphml",), graph="io.graph_files:read_graphml"),
    Format("GML", (".gml",), graph="io.graph_files:read_gml"),
    Format("WebGraph", (".graph",), graph="io.webgraph:read_webgraph"),
)
BY_ENDING = {ending: form for form in FORMATS for ending in form.endings}


def find_endings(use: str) -> list[str]:
    """The endings of files that can be read as a "table", as "rows" or as a "graph"."""
    return [ending for ending, form in BY_ENDING.items() if getattr(form, use)]


def find_reader(ending: str, use: str) -> Callable[..., Any] | None:
    """The function that reads files of this ending for a use; None where there is none."""
    place = getattr(BY_ENDING.get(ending), use, "")
    if not place:
        return None
    module, _, function = place.partition(":")
    reader: Callable[..., Any] = getattr(importlib.import_module(f"sparseigen.{module}"), function)
    return reader


def ending_of(path: Path) -> str:
    """The ending that says how to read a file, in lower case, without the .gz of a format that may be compressed.

    Examples
    --------
    >>> ending_of(Path("genes.CSV.gz")), ending_of(Path("genes.npy.gz"))
    ('.csv', '.npy.gz')
    """
    inner, last = ("", "", *(suffix.lower() for suffix in path.suffixes))[-2:]
    if last != ".gz" or not inner:
        return last
    form = BY_ENDING.get(inner)
    return inner if form is None or form.packed else inner + last


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name says that they are compressed."""
    return cast(IO[bytes], gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def count_bytes_read(file: IO[bytes]) -> int:
    """How much of a file that `open_bytes` opened has been read; of a compressed one, how much of what is stored."""
    return file.fileobj.tell() if isinstance(file, gzip.GzipFile) else file.tell()


@contextmanager
def explain_damage(file: str, ending: str, kind: type[InputError] = InputError) -> Iterator[None]:
    """Turn whatever a reader raises on a damaged file into one sentence."""
    try:
        yield
    except SparseigenError as error:
        raised = kind if type(error) is InputError else type(error)
        if raised is type(error) and (file in str(error) or isinstance(error, MissingDependencyError)):
            raise
        message = str(error) if file in str(error) else f"{file}: {error}"
        raise raised(message) from error
    except PermissionError as error:
        message = f"{file} may not be read: permission denied."
        raise kind(message) from error
    except MemoryError as error:
        message = f"{file} does not fit into memory."
        raise kind(message) from error
    except Exception as error:  # the packages underneath have errors of their own for every way to be damaged
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        message = f"{file} cannot be read as {ending}: {reason.rstrip('.')}. It is damaged, or of another format."
        raise kind(message) from error


def guard_blocks(blocks: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """For a method that yields blocks of ``self.label``: whatever goes wrong on the way becomes one sentence."""

    @wraps(blocks)
    def read(self: Any, *arguments: Any) -> Iterator[Any]:
        with explain_damage(self.label, "blocks of rows"):
            yield from blocks(self, *arguments)

    return read
