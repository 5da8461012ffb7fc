from typing import Any

from numpy.typing import NDArray

def combine_rows(matrix: NDArray[Any], rows: NDArray[Any], weights: NDArray[Any], out: NDArray[Any], /) -> None: ...
def row_dots(matrix: NDArray[Any], vector: NDArray[Any], out: NDArray[Any], /) -> None: ...
def sparse_combine_rows(
    row_starts: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    rows: NDArray[Any],
    weights: NDArray[Any],
    out: NDArray[Any],
    /,
) -> None: ...
def sparse_row_dots(
    row_starts: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    vector: NDArray[Any],
    out: NDArray[Any],
    /,
) -> None: ...
def largest_magnitudes(values: NDArray[Any], nonnegative: bool, out: NDArray[Any], /) -> None: ...
def stream_sum(values: NDArray[Any], /) -> float: ...
def top_row_sums(
    block: NDArray[Any],
    own: NDArray[Any],
    weights: NDArray[Any],
    count: int,
    sums: NDArray[Any],
    least: NDArray[Any],
    /,
) -> None: ...
def node_row_sums(
    matrix: NDArray[Any],
    members: NDArray[Any],
    n_inside: int,
    picks: int,
    weights: NDArray[Any],
    sums: NDArray[Any],
    least: NDArray[Any],
    /,
) -> None: ...
def thread_count() -> int: ...
def set_thread_count(count: int, /) -> None: ...
def shadow_codes(
    rows: NDArray[Any], codes: NDArray[Any], scales: NDArray[Any], errors: NDArray[Any], norms: NDArray[Any], /
) -> None: ...
def shadow_bounds(
    codes: NDArray[Any],
    scales: NDArray[Any],
    errors: NDArray[Any],
    norms: NDArray[Any],
    vector: NDArray[Any],
    slack: float,
    lower: NDArray[Any],
    upper: NDArray[Any],
    /,
) -> None: ...
def bounded_step(
    rows: NDArray[Any],
    lower: NDArray[Any],
    upper: NDArray[Any],
    vector: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    combined: NDArray[Any],
    /,
) -> int: ...
