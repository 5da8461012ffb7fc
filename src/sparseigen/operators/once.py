"""A property that is computed on first use and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class computed_once(Generic[Value]):
    """``functools.cached_property`` without a lock.

    Up to Python 3.11 that one holds a lock of the class while it computes: threads with graphs of their own would wait
    for each other, and a process forked meanwhile for ever. Here two threads that ask at the same time may both
    compute; the answers are the same, and one is kept.

    Examples
    --------
    >>> class Squares:
    ...     @computed_once
    ...     def total(self):
    ...         print("computing")
    ...         return sum(i * i for i in range(4))
    >>> squares = Squares()
    >>> squares.total
    computing
    14
    >>> squares.total
    14
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> computed_once[Value] | Value:
        if instance is None:
            return self
        value: Value = instance.__dict__.setdefault(self.name, self.function(instance))
        return value
