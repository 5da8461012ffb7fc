"""Files that are there whole or not at all, whatever happens while they are written.

Everything the package writes goes through here: under another name first, flushed to the disk, then renamed. A full
disk, a kill or a lost machine leaves what was there before. The other names are ``.NAME.8 hex digits.partial``; they
are locked while somebody writes, and those that a killed process left behind are removed by the next write of NAME.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sparseigen.errors import OptionError, SparseigenError, WriteError

LONGEST_NAME = 100
"""Characters of a name that go into the other name: a file name has at most 255 bytes."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write into; it takes its name when the block ends without an error.

    A link in the place of the file is replaced, never followed.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "answer.txt") as file:
    ...     _ = file.write(b"42")
    >>> [entry.name for entry in folder.iterdir()]
    ['answer.txt']
    """
    target = Path(path)
    check_target(target)
    with writing(target):
        remove_strays(target)
        partial = _other_name(target)
        lock = -1
        try:
            with partial.open("xb") as file:
                lock = _locked(os.dup(file.fileno()))
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
            sync_folder(target.parent)
        finally:
            partial.unlink(missing_ok=True)
            _unlocked(lock)


def as_bytes(text: str) -> bytes:
    """Text as it is written: UTF-8; halves of characters, which UTF-8 does not have, by their numbers."""
    return text.encode("utf-8", "backslashreplace")


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text (UTF-8, line ends as they are), all of it or nothing."""
    with whole_file(path) as file:
        file.write(as_bytes(text))


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Put files into a folder.

    A new folder is filled under another name and renamed: all files or none. In one that exists every file is written
    in full under another name first, and then they take their places one after the other, the last one last.
    """
    for name in files:
        if Path(name).name != name or name in ("", ".", ".."):
            message = f"{name!r} cannot be a file name inside {folder}."
            raise OptionError(message)
    folder = folder.absolute()
    existing = folder.is_dir()
    lock = -1
    with writing(folder):
        remove_strays(folder / folder.name if existing else folder)
        partial = _other_name(folder / folder.name if existing else folder)
        partial.mkdir()
        try:
            lock = _locked(_descriptor(partial))
            for name, text in files.items():
                with (partial / name).open("xb") as file:
                    file.write(as_bytes(text))
                    file.flush()
                    os.fsync(file.fileno())
            if existing:
                for name in files:
                    check_target(folder / name)
                for name in files:
                    os.replace(partial / name, folder / name)
                sync_folder(folder)
            else:
                partial.rename(folder)
                sync_folder(folder.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            _unlocked(lock)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Say of a failure what it means and what to do."""
    try:
        yield
    except SparseigenError:
        raise
    except OSError as error:
        message = (
            f"{target} could not be written: {error.strerror or error}. What was there before is unchanged; make room, "
            "or choose another place to write to."
        )
        raise WriteError(message) from error


def check_target(target: Path) -> None:
    """Refuse folders, devices and pipes, which a rename would replace or fail on."""
    try:
        mode = target.lstat().st_mode
        plain = stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and not _leads_to_a_device(target))
    except OSError:  # not there yet, or writing it will say why not
        return
    if not plain:
        kind = "a folder" if stat.S_ISDIR(mode) else "not a plain file"
        message = f"{target} is {kind}; give the name of a file."
        raise OptionError(message)


def _leads_to_a_device(link: Path) -> bool:
    """Whether a link is one like /dev/stdout: it is not to become a file, whatever it leads to at the moment."""
    if os.readlink(link).startswith(("/dev/", "/proc/")):
        return True
    try:
        mode = link.stat().st_mode
    except OSError:  # it leads nowhere
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _other_name(target: Path) -> Path:
    return target.with_name(f".{target.name[:LONGEST_NAME]}.{secrets.token_hex(4)}.partial")


def remove_strays(target: Path) -> None:
    """Remove what killed processes left of earlier attempts to write the same file; never what one still writes."""
    pattern = re.compile(re.escape(f".{target.name[:LONGEST_NAME]}.") + r"[0-9a-f]{8}\.partial")
    with suppress(OSError):
        for stray in target.parent.iterdir():
            if pattern.fullmatch(stray.name) and not stray.is_symlink():
                _remove_if_left(stray)


def _remove_if_left(stray: Path) -> None:
    with suppress(OSError):
        lock = _descriptor(stray)
        try:
            if not _try_lock(lock):
                return
            shutil.rmtree(stray, ignore_errors=True) if stray.is_dir() else stray.unlink()
        finally:
            _unlocked(lock)


def _descriptor(path: Path) -> int:
    """An open descriptor for locking; -1 where folders cannot be opened."""
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except PermissionError:
        return -1


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows does not let an open file be removed: the attempt is test enough
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _locked(descriptor: int) -> int:
    _try_lock(descriptor)  # where a file system has no locks, strays stay: nothing is removed that might be in use
    return descriptor


def _unlocked(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a rename durable, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
