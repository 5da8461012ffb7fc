"""Files that are there whole or not at all, whatever happens while they are written.

Everything the package writes goes through here: under another name beside the target first, flushed to the disk, then
renamed. A full disk, a kill or a lost machine leaves what was there before; of two writers of one file the last one
wins, whole. The other names are ``.NAME.8 hex digits.partial`` (not those of `tempfile`, whose files nobody but the
owner may read); those that a killed process left behind are removed by a write of NAME a day later.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sparseigen.errors import OptionError, SparseigenError, WriteError

LONGEST_NAME = 100
"""Characters of a name that go into the other name: a file name has at most 255 bytes."""
STRAY_SECONDS = 86_400.0
"""What was not written to for so long has no writer any more."""


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
        partial = _choose_other_name(target)
        try:
            with partial.open("xb") as file:
                yield file
                _sync(file)
            os.replace(partial, target)
            sync_folder(target.parent)
        finally:
            partial.unlink(missing_ok=True)


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
    with writing(folder):
        partial = _choose_other_name(folder / folder.name if existing else folder)
        partial.mkdir()
        try:
            for name, text in files.items():
                with (partial / name).open("xb") as file:
                    file.write(as_bytes(text))
                    _sync(file)
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
        plain = stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and not _leads_to_device(target))
    except OSError:  # not there yet, or writing it will say why not
        return
    if not plain:
        kind = "a folder" if stat.S_ISDIR(mode) else "not a plain file"
        message = f"{target} is {kind}; give the name of a file."
        raise OptionError(message)


def _leads_to_device(link: Path) -> bool:
    """Whether a link is one like /dev/stdout: it is not to become a file, whatever it leads to at the moment."""
    if os.readlink(link).startswith(("/dev/", "/proc/")):
        return True
    try:
        mode = link.stat().st_mode
    except OSError:  # it leads nowhere
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _choose_other_name(target: Path) -> Path:
    """A new name beside the target; old ones that killed processes left there go."""
    begin = f".{target.name[:LONGEST_NAME]}."
    pattern = re.compile(re.escape(begin) + r"[0-9a-f]{8}\.partial")
    with suppress(OSError):
        for stray in target.parent.iterdir():
            if pattern.fullmatch(stray.name) and time.time() - stray.lstat().st_mtime > STRAY_SECONDS:
                shutil.rmtree(stray) if stat.S_ISDIR(stray.lstat().st_mode) else stray.unlink()
    return target.with_name(f"{begin}{secrets.token_hex(4)}.partial")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make a rename durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
