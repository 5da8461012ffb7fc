"""Fetching data sets from where they are published, by pooch: checked and whole in their place, or nothing at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from sparseigen.config import require
from sparseigen.datasets.catalogue import DATA, RemoteFile, Source, build_address, data_folder, find_folder, find_source
from sparseigen.datasets.download import Download, check_address, find_cause
from sparseigen.errors import DownloadError
from sparseigen.io.writing import writing

MIRROR = "SPARSEIGEN_MIRROR"
"""Environment variable with the address of a mirror."""
ATTEMPTS = 4

Progress = Callable[[str, int, int], object]
"""Called with the name of a file, the bytes that are here and the bytes there will be (0: unknown)."""


class FetchedFile(NamedTuple):
    """What is now there, and how it is known to be the right file."""

    path: Path
    checked_by: str
    sha256: str
    downloaded: bool


def fetch_dataset(
    name: str,
    *,
    to: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    replace: bool = False,
    on_progress: Progress | None = None,
) -> tuple[FetchedFile, ...]:
    """Download a data set from where it is published.

    A file is downloaded under another name, checked and then renamed, so that a file in place is a whole one. An
    interrupted download is continued by the next call. Files that are there and pass the check are not downloaded.

    Parameters
    ----------
    name : str
        "cnr-2000", "amazon-2008", "ljournal-2008", "hollywood-2009" (WebGraph files) or "newsgroups20" (the raw
        messages; the word counts that this project uses are not published).
    to : path, optional
        The data folder; the files come into its folder ``name``. Without it the folder of :func:`data_folder`, which is
        made if it is the user's cache folder.
    base_url : str, optional
        A mirror: files are read from ``base_url/name/file``. Without it the environment variable SPARSEIGEN_MIRROR,
        else the publisher's own address.
    replace : bool
        Replace a file that is there and fails the check, instead of an error.
    on_progress : callable, optional
        Called with the file's name, the bytes that are here and the bytes there will be (0: unknown).

    Returns
    -------
    tuple of FetchedFile
        ``path``, ``checked_by``, ``sha256``, ``downloaded`` for each file; the folder, for an archive.

    Raises
    ------
    DownloadError
        No network, no such address, a wrong checksum, a file larger than expected, a full disk.
    MissingDependencyError
        If pooch is not installed.

    Notes
    -----
    The .graph of cnr-2000 and the archive of newsgroups20 are compared with SHA-256 sums that are part of this
    package. For the other graphs we hold no copy: they are compared with the MD5 list that the publisher keeps beside
    them, which finds damage but does not prove the origin, and with the number of nodes and arcs in the paper.

    References
    ----------
    P. Boldi, S. Vigna (2004), "The WebGraph framework I: compression techniques", WWW 2004. K. Lang (1995),
    "NewsWeeder: learning to filter netnews", ICML 1995.

    Examples
    --------
    >>> from sparseigen.datasets import fetch_dataset
    >>> fetch_dataset("colon")
    Traceback (most recent call last):
    ...
    sparseigen.errors.InputError: 'colon' cannot be fetched: no public address is known. Allowed are 'amazon-2008', \
'cnr-2000', 'hollywood-2009', 'ljournal-2008', 'newsgroups20'.
    """
    source = find_source(name)
    base_url = base_url or os.environ.get(MIRROR) or None
    if base_url is not None:
        check_address(base_url)
    require("pooch", purpose="fetching data sets")
    folder = _choose_folder(to) / name
    existed = folder.is_dir()
    with writing(folder):
        folder.mkdir(exist_ok=True)
    try:
        fetching = _Fetching(name, source, folder, base_url, replace, on_progress)
        if source.unpacked is not None:
            return (fetching.fetch_archive(source.files[0], folder / source.unpacked),)
        return tuple(fetching.fetch_file(file) for file in source.files)
    finally:
        if not existed and not any(folder.iterdir()):
            folder.rmdir()


def _choose_folder(to: str | os.PathLike[str] | None) -> Path:
    if to is None:
        cache = None if os.environ.get(DATA) else find_folder()
        if cache is not None:
            with writing(cache):
                cache.mkdir(parents=True, exist_ok=True)
        return data_folder()
    folder = Path(to)
    if not folder.is_dir():
        message = f"{folder} is not a folder; create it first."
        raise DownloadError(message)
    return folder


@dataclass
class _Fetching:
    """One call: where files come from and go to, and the publisher's checksums once they are read."""

    name: str
    source: Source
    folder: Path
    base_url: str | None
    replace: bool
    on_progress: Progress | None

    def fetch_file(self, file: RemoteFile) -> FetchedFile:
        """A file in its place: the one that is there, or a new one."""
        import pooch

        target = self.folder / file.name
        known, checked_by = self._find_hash(file)
        present = target.is_file()
        wrong = _find_fault(target, file, known) if present else None
        if wrong is not None and not self.replace:
            message = f"{target} is there but is not the published file: {wrong}. Remove it, or replace it ('replace')."
            raise DownloadError(message, parameter="replace")
        if wrong is not None and known is None:
            target.unlink()  # pooch takes any file without a known checksum for the right one
        self._retrieve(file, self.folder, known)
        return FetchedFile(target, checked_by, pooch.file_hash(target), not present or wrong is not None)

    def fetch_archive(self, file: RemoteFile, unpacked: Path) -> FetchedFile:
        """The folder that an archive becomes."""
        known, _ = self._find_hash(file)
        sha256 = file.sha256 or ""
        if unpacked.exists():
            # It was renamed into place after its archive had been checked.
            return FetchedFile(unpacked, "there already, not checked again", sha256, downloaded=False)
        archive = self._retrieve(file, self.folder, known)
        try:
            unpack(archive, unpacked)
        finally:
            archive.unlink(missing_ok=True)
        return FetchedFile(unpacked, "SHA-256 of the archive", sha256, downloaded=True)

    def _retrieve(self, file: RemoteFile, folder: Path, known: str | None) -> Path:
        """The file in ``folder``, downloaded by pooch if it is not there or is another one."""
        import pooch
        import requests

        url = build_address(file, self.name, self.base_url)
        check_address(url)
        report = None if self.on_progress is None else partial(self.on_progress, file.name)
        find_fault = partial(_find_fault, file=file, known=known)
        download = Download(folder / f".{file.name}.partial", file.largest, find_fault, report)
        registry = pooch.create(
            folder, "", registry={file.name: known}, urls={file.name: url}, retry_if_failed=ATTEMPTS - 1
        )
        with _quieten(pooch.get_logger()), writing(folder / file.name):
            try:
                return Path(registry.fetch(file.name, downloader=download))
            except requests.RequestException as broken:
                kept = download.partial.stat().st_size if download.partial.is_file() else 0
                message = (
                    f"{url} broke off {ATTEMPTS} times ({find_cause(broken)}); {kept:,} bytes are kept in "
                    f"{download.partial}. Run the same again to continue."
                )
                raise DownloadError(message) from None

    def _find_hash(self, file: RemoteFile) -> tuple[str | None, str]:
        """The checksum as pooch writes it, and in words what the file is checked by."""
        if file.sha256 is not None:
            return f"sha256:{file.sha256}", "SHA-256 known to this package"
        listed, failure = self._published
        if file.name in listed:
            return f"md5:{listed[file.name]}", "MD5 published beside it"
        if file.must_say:
            return None, "its own figures only: " + ", ".join(file.must_say)
        if failure is not None:
            raise failure
        message = f"{file.name} cannot be checked: the publisher's list of MD5 sums does not name it. Refused."
        raise DownloadError(message)

    @cached_property
    def _published(self) -> tuple[dict[str, str], DownloadError | None]:
        """File name -> MD5 from the publisher's list, and why it could not be read; empty where there is no list."""
        if self.source.md5_list is None:
            return {}, None
        with tempfile.TemporaryDirectory() as scratch:
            try:
                text = self._retrieve(self.source.md5_list, Path(scratch), None).read_text("latin-1")
            except DownloadError as failure:
                return {}, failure
        rows = [line.split() for line in text.splitlines()]
        return {row[1].lstrip("*./"): row[0].lower() for row in rows if len(row) == 2}, None


def _find_fault(path: Path, file: RemoteFile, known: str | None) -> str | None:
    """Why this is not the file; None if it is."""
    import pooch

    if file.must_say:
        lines = path.read_bytes()[: file.largest].decode("latin-1").split()
        missing = [line for line in file.must_say if line not in lines]
        if missing:
            return f"it does not say {' and '.join(missing)}"
    if known is None:
        return None
    algorithm, expected = known.split(":")
    found = pooch.file_hash(path, algorithm)
    if found == expected:
        return None
    if algorithm == "md5":
        return f"its MD5 is {found}, {expected} is published"
    return f"its SHA-256 is {found}, {expected} is expected"


@contextmanager
def _quieten(logger: Any) -> Iterator[None]:
    """Keep pooch from announcing every download on stderr: ``on_progress`` does that."""
    level = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack into ``folder``, which appears whole or not at all.

    pooch's Untar writes into the folder itself, and below Python 3.12 it takes names that lead outside.
    """
    if not hasattr(tarfile, "data_filter"):
        message = "unpacking safely needs Python 3.11.4 or newer."
        raise DownloadError(message)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent) as scratch:
            unpacked = Path(scratch) / folder.name
            shutil.unpack_archive(archive, unpacked, "gztar", filter="data")
            unpacked.rename(folder)
    except (tarfile.TarError, EOFError, OSError) as failure:
        message = f"{archive.name} cannot be unpacked ({failure}). Nothing was kept."
        raise DownloadError(message) from None
