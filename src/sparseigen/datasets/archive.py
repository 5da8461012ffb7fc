"""Unpacking a downloaded archive: files and folders inside one new folder, nothing else."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from sparseigen.datasets.download import check_space
from sparseigen.errors import DownloadError

LARGEST = 2**28
"""Bytes that an archive may unpack to."""
MOST_MEMBERS = 200_000


def unpack(archive: Path, folder: Path) -> None:
    """Unpack into ``folder``, which appears whole or not at all."""
    import tarfile

    if not hasattr(tarfile, "data_filter"):
        message = "unpacking safely needs Python 3.11.4 or newer."
        raise DownloadError(message)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent))
    try:
        with tarfile.open(archive, "r:gz") as packed:
            check_space(folder.parent, _checked_size(packed, archive))
            # The "data" filter refuses links and names that lead outside, devices, and strange permissions.
            packed.extractall(partial, filter="data")
        partial.chmod(0o755)
        partial.rename(folder)
    except (tarfile.TarError, EOFError, OSError) as failure:
        if isinstance(failure, DownloadError):
            raise
        message = f"{archive.name} cannot be unpacked ({failure}). Nothing was kept."
        raise DownloadError(message) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _checked_size(packed: Any, archive: Path) -> int:
    size = 0
    for count, member in enumerate(packed):
        if not (member.isreg() or member.isdir()):
            message = f"{archive.name} holds {member.name!r}, which is neither a file nor a folder. Refused."
            raise DownloadError(message)
        size += member.size
        if size > LARGEST or count > MOST_MEMBERS:
            message = f"{archive.name} would unpack to more than {LARGEST:,} bytes or {MOST_MEMBERS:,} files. Refused."
            raise DownloadError(message)
    return size
