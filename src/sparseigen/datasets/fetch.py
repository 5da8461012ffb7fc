"""Fetching data sets from where they are published: verified, then moved into place, or nothing at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sparseigen.datasets.archive import unpack
from sparseigen.datasets.download import check_address, download, size_of
from sparseigen.datasets.folder import data_folder
from sparseigen.datasets.sources import RemoteFile, Source, address, source_of
from sparseigen.errors import DownloadError
from sparseigen.io.writing import sync_folder, writing

MIRROR = "SPARSEIGEN_MIRROR"
"""Environment variable with the address of a mirror."""


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
    on_progress: Callable[[str, int, int], object] | None = None,
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
        The data folder; the files come into its folder ``name``. Without it the folder of :func:`data_folder`.
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
    source = source_of(name)
    base_url = base_url or os.environ.get(MIRROR) or None
    if base_url is not None:
        check_address(base_url)
    folder = _folder(to) / name
    existed = folder.is_dir()
    with writing(folder):
        folder.mkdir(exist_ok=True)
    try:
        fetching = _Fetching(name, source, folder, base_url, replace, on_progress)
        if source.unpacked is not None:
            return (fetching.archive(source.files[0], folder / source.unpacked),)
        return tuple(fetching.file(file) for file in source.files)
    finally:
        if not existed and not any(folder.iterdir()):
            folder.rmdir()


def _folder(to: str | os.PathLike[str] | None) -> Path:
    if to is None:
        return data_folder()
    folder = Path(to)
    if not folder.is_dir():
        message = f"{folder} is not a folder; create it first."
        raise DownloadError(message)
    return folder


class _Fetching:
    """One call: where files come from and go to, and the publisher's checksums once they are read."""

    def __init__(
        self,
        name: str,
        source: Source,
        folder: Path,
        base_url: str | None,
        replace: bool,
        on_progress: Callable[[str, int, int], object] | None,
    ) -> None:
        self.name, self.source, self.folder, self.base_url, self.replace = name, source, folder, base_url, replace
        self.on_progress = on_progress
        self._published: dict[str, str] | None = None
        self._no_list: DownloadError | None = None

    def file(self, file: RemoteFile) -> FetchedFile:
        """A file in its place: the one that is there, or a new one."""
        target = self.folder / file.name
        if target.is_file():
            wrong = self.fault(target, file)
            if wrong is None:
                return self._fetched(target, file, downloaded=False)
            if not self.replace:
                message = (
                    f"{target} is there but is not the published file: {wrong}. Remove it, or replace it ('replace')."
                )
                raise DownloadError(message, parameter="replace")
        partial = self._download(file)
        with writing(target):
            os.replace(partial, target)
            sync_folder(self.folder)
        return self._fetched(target, file, downloaded=True)

    def archive(self, file: RemoteFile, unpacked: Path) -> FetchedFile:
        """The folder that an archive becomes."""
        if unpacked.exists():
            # It was renamed into place after its archive had been checked.
            return FetchedFile(unpacked, "there already, not checked again", file.sha256 or "", downloaded=False)
        partial = self._download(file)
        try:
            unpack(partial, unpacked)
        finally:
            partial.unlink(missing_ok=True)
        return FetchedFile(unpacked, "SHA-256 of the archive", file.sha256 or "", downloaded=True)

    def _download(self, file: RemoteFile) -> Path:
        """The whole, checked file under its temporary name."""
        partial = self.folder / f".{file.name}.partial"
        continued = size_of(partial) > 0
        self._get(file, partial)
        wrong = self.fault(partial, file)
        if wrong is not None and continued:
            # The earlier part may have been of another file: once more, from the beginning.
            partial.unlink()
            self._get(file, partial)
            wrong = self.fault(partial, file)
        if wrong is not None:
            partial.unlink()
            message = f"{address(file, self.name, self.base_url)} is not the published file: {wrong}. Nothing was kept."
            raise DownloadError(message)
        return partial

    def _get(self, file: RemoteFile, partial: Path) -> None:
        def report(done: int, total: int) -> None:
            if self.on_progress is not None:
                self.on_progress(file.name, done, total)

        download(address(file, self.name, self.base_url), partial, largest=file.largest, on_progress=report)

    def fault(self, path: Path, file: RemoteFile) -> str | None:
        """Why this is not the file; None if it is."""
        if file.sha256 is not None and digest(path, "sha256") != file.sha256:
            return f"its SHA-256 is {digest(path, 'sha256')}, {file.sha256} is expected"
        if file.must_say:
            lines = path.read_bytes()[: file.largest].decode("latin-1").split()
            missing = [line for line in file.must_say if line not in lines]
            if missing:
                return f"it does not say {' and '.join(missing)}"
        if file.sha256 is not None:
            return None
        listed = self.published().get(file.name)
        if listed is None and not file.must_say:
            if self._no_list is not None:
                raise self._no_list
            return "the publisher's list of MD5 sums does not name it"
        if listed is not None and digest(path, "md5") != listed:
            return f"its MD5 is {digest(path, 'md5')}, {listed} is published"
        return None

    def published(self) -> dict[str, str]:
        """File name -> MD5, from the publisher's list, read once; empty where there is no list."""
        if self._published is None:
            self._published = {}
            if self.source.md5_list is not None:
                try:
                    self._published = self._read_list(self.source.md5_list)
                except DownloadError as error:
                    self._no_list = error
        return self._published

    def _read_list(self, listed: RemoteFile) -> dict[str, str]:
        partial = self.folder / f".{listed.name}.partial"
        partial.unlink(missing_ok=True)
        try:
            self._get(listed, partial)
            rows = [line.split() for line in partial.read_text("latin-1").splitlines()]
        finally:
            partial.unlink(missing_ok=True)
        return {row[1].lstrip("*./"): row[0].lower() for row in rows if len(row) == 2}

    def _fetched(self, path: Path, file: RemoteFile, *, downloaded: bool) -> FetchedFile:
        if file.sha256 is not None:
            checked_by = "SHA-256 known to this package"
        elif file.name in self.published():
            checked_by = "MD5 published beside it"
        else:
            checked_by = "its own figures only: " + ", ".join(file.must_say)
        return FetchedFile(path, checked_by, digest(path, "sha256"), downloaded)


def digest(path: Path, algorithm: str) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
