"""Every exception and warning of the package.

Each error says what was wrong, what was got, what is allowed and what to do next, and subclasses the built-in a
caller would expect to catch.
"""

from __future__ import annotations

from collections.abc import Iterable


class SparseigenError(Exception):
    """Base class of every error this package raises on purpose.

    ``parameter`` is the name of the argument at fault (or of the one that mends it) where that is known, else None: a
    front end shows its own field beside the message. Of an entry such as ``cardinalities[2]`` it is the whole argument.
    """

    def __init__(self, *arguments: object, parameter: str | None = None) -> None:
        super().__init__(*arguments)
        self.parameter = None if parameter is None else parameter.partition("[")[0].partition(".")[0]


class InputError(SparseigenError, ValueError):
    """The data or an argument cannot be used."""


class NotEnoughMemoryError(InputError, MemoryError):
    """A request that cannot fit; refused before anything is allocated."""


class ShapeError(InputError):
    """An array has the wrong number of dimensions, is empty, or its sides do not fit."""


class NotSymmetricError(InputError):
    """A matrix that must be symmetric is not."""


class NotDefiniteError(InputError):
    """The metric of a generalised problem is not positive definite, or too nearly singular for proofs."""


class NonFiniteError(InputError):
    """The data contain NaN or infinite values, or numbers so large that products overflow."""


class RangeError(InputError):
    """Numbers so large or so small that products of them leave the range of their floating-point type."""


class DtypeError(SparseigenError, TypeError):
    """The array's element type cannot be used (object, complex, text, dates)."""


class IntegerOverflowError(InputError, OverflowError):
    """Integers too large to be represented exactly as floating point numbers."""


class CardinalityError(InputError):
    """The wanted number of non-zeros is not a whole number between 1 and the number of variables."""


class ZeroMatrixError(InputError):
    """The matrix (or the covariance of the data) is zero: every answer is as good as any other."""


class ConstantColumnError(InputError):
    """A column without variance cannot be scaled to unit variance."""


class DuplicateNamesError(InputError):
    """Two variables carry the same name."""


class TooFewSamplesError(InputError):
    """A covariance needs at least two samples."""


class StartError(InputError):
    """The starting vector has the wrong length, is zero, or leads nowhere."""


class OptionError(InputError):
    """An option has a value that is not allowed."""


class UnknownOptionError(OptionError, TypeError):
    """An option was named that the function does not have."""


class NegativeWeightError(InputError):
    """An edge has a negative weight; densest subgraphs are defined for weights >= 0."""


class GraphFileError(InputError):
    """A graph file cannot be read: unknown format, damaged, or not what its header says."""


class PartitionError(InputError):
    """A partition of the data cannot be used: loading it failed, or it is not what the others are."""


class ClusterError(SparseigenError, ConnectionError):
    """The cluster that does the work is gone, or lost a task too often."""


class GraphTooLargeError(SparseigenError, MemoryError):
    """No core of a graph on a cluster is small enough for the memory of this process."""

    # MemoryError has its own, which is refused where others unpickle this one.
    __new__ = Exception.__new__  # type: ignore[assignment]


class NodeError(InputError, KeyError):
    """A vertex was named that the graph does not have."""

    __str__ = Exception.__str__


class UnsupportedOperatorError(SparseigenError, TypeError):
    """A solver or bound needs something this operator does not offer."""


class MissingDependencyError(SparseigenError, ImportError):
    """An optional package is needed and not installed."""


class DeviceMemoryError(SparseigenError, MemoryError):
    """The accelerator has too little memory for the data or for the work on them."""

    # MemoryError has its own, which is refused where others unpickle this one.
    __new__ = Exception.__new__  # type: ignore[assignment]


class CheckpointError(InputError):
    """A checkpoint is damaged, or was written for other data or another computation."""


class WriteError(SparseigenError, OSError):
    """A file could not be written (disk full, no permission); what was there before is unchanged."""


class MissingDataError(SparseigenError, FileNotFoundError):
    """A data set that does not ship with the package was not found."""


class DownloadError(SparseigenError, OSError):
    """A data set could not be downloaded, or what came is not the published file."""


class ConvergenceWarning(UserWarning):
    """A solver stopped at its iteration limit."""


class PrecisionWarning(UserWarning):
    """The numbers as given, or the rounding of sums of them, say less than the caller may think; says what to do."""


class NotSignificantWarning(UserWarning):
    """Components were asked for that do not stand out from noise, or none does."""


class RedundantComponentWarning(UserWarning):
    """A component says hardly anything that those before it did not; names the two, and says what to do."""


class IndefiniteWarning(UserWarning):
    """A component cannot be regressed out, because the matrix is no covariance; says what is done instead."""


class UnusedWeightsWarning(UserWarning):
    """The edges carry numbers that could be weights, and none of them is used; names them and says what to do."""


class ConstantColumnWarning(UserWarning):
    """Constant columns are left out because there is no standard deviation to divide by; names them."""


class SlowLayoutWarning(UserWarning):
    """Data are stored in a way that is slow to read in blocks of rows."""


class SolveInterrupted(KeyboardInterrupt):
    """Ctrl-C during a solve.

    ``result`` holds the best answer found until then, or None; ``completed`` the components finished before it, where
    several were asked for.
    """

    def __init__(self, result: object | None, completed: tuple[object, ...] = ()) -> None:
        super().__init__("interrupted; the best answer so far is in .result, what was finished before in .completed")
        self.result = result
        self.completed = completed


def one_of(options: Iterable[object]) -> str:
    """The allowed options as text, sorted so that the message never varies."""
    return ", ".join(sorted(repr(option) for option in options))
