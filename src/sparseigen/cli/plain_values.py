"""Values of options without pydantic.

Recent versions of typer check every value through pydantic, whose import costs more than a small solve. Our options are
of a few plain types, converted here; where typer is built differently nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import typer


class PlainValue:
    """Stands in for typer's converter of one option."""

    def __init__(self, convert: Callable[[Any], Any], expected: str, minimum: float | None) -> None:
        self.convert, self.expected, self.minimum = convert, expected, minimum

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value in the option's type, or an error of usage."""
        if value is None:
            return None
        try:
            converted = self.convert(value)
        except ValueError:
            message = f"{value!r} is not {self.expected}."
            raise typer.BadParameter(message, ctx=ctx, param=param) from None
        if self.minimum is not None and converted < self.minimum:
            message = f"{value} is less than {self.minimum:g}, the smallest allowed."
            raise typer.BadParameter(message, ctx=ctx, param=param)
        return converted


def _flag(value: Any) -> bool:
    if value not in (True, False):
        message = f"{value!r} is not a flag"
        raise ValueError(message)
    return bool(value)


KINDS: dict[Any, tuple[Callable[[Any], Any], str]] = {
    str: (str, "text"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: (_flag, "a flag"),
    Path: (Path, "a path"),
}
"""Type of an option -> how text becomes a value, and what to call it."""


def use_plain_values(command: Any, context: Any) -> None:
    """Give every option of a plain type its plain converter; --help, which comes with the context, too."""
    for parameter in command.get_params(context):
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is None or not hasattr(parameter, "_runtime_param"):
            continue
        if getattr(parameter, "multiple", False) or parameter.nargs != 1:
            continue
        kind = descriptor.annotation
        minimum = getattr(getattr(descriptor, "parameter_info", None), "min", None)
        if kind in KINDS:
            parameter._runtime_param = PlainValue(*KINDS[kind], minimum)
        elif isinstance(kind, type) and issubclass(kind, Enum):
            allowed = "one of " + ", ".join(str(member.value) for member in kind)
            parameter._runtime_param = PlainValue(kind, allowed, None)
