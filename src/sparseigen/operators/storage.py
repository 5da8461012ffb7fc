"""Where data are kept and how they are read: the options of `covariance` that do not change its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from sparseigen.checks.arguments import check_flag
from sparseigen.errors import OptionError, UnknownOptionError, one_of

OnBlock = Callable[[int, int, int], None]


class StorageOptions(TypedDict, total=False):
    """The keyword options that become a `Storage`, for type checkers and editors."""

    device: Any
    memory_limit: int | str | None
    checkpoint: Any
    dataset: str | None
    shape: tuple[int, int] | None
    on_block: OnBlock | None
    client: Any
    keep: bool


@dataclass(frozen=True)
class Storage:
    """Checked options; what each means is said in `covariance`."""

    device: Any = None
    memory_limit: int | str | None = None
    checkpoint: Any = None
    dataset: str | None = None
    shape: Any = None
    on_block: OnBlock | None = None
    client: Any = None
    keep: bool = True

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Storage:
        """The options by name, every name known and every flag a flag.

        Examples
        --------
        >>> Storage.from_options({"memory_limit": "1GB"}).memory_limit
        '1GB'
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                message = (
                    f"covariance() has no option {name!r}. Of the statistics it takes center, scale and ddof; "
                    f"of where data are and how they are read: {one_of(known)}."
                )
                raise UnknownOptionError(message)
        storage = cls(**options)
        check_flag(storage.keep, "keep")
        if storage.on_block is not None and not callable(storage.on_block):
            message = f"on_block={storage.on_block!r} must be a function (pass_number, rows_done, n_rows) or None."
            raise OptionError(message)
        return storage

    def find_set(self, names: Iterable[str]) -> str | None:
        """The first of these options that was given a value."""
        return next((name for name in names if getattr(self, name) is not None), None)
