from typing import Any

from numpy.typing import NDArray

def combine_rows(matrix: NDArray[Any], rows: NDArray[Any], weights: NDArray[Any], out: NDArray[Any], /) -> None: ...
def row_dots(matrix: NDArray[Any], vector: NDArray[Any], out: NDArray[Any], /) -> None: ...
def row_moments(
    matrix: NDArray[Any], s: NDArray[Any], v: NDArray[Any], w: NDArray[Any], out: NDArray[Any], /
) -> None: ...
def power_step(
    matrix: NDArray[Any],
    support: NDArray[Any],
    weights: NDArray[Any],
    divisor: float,
    nonnegative: bool,
    scores: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    /,
) -> None: ...
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
def sparse_transpose(
    row_starts: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    starts: NDArray[Any],
    rows: NDArray[Any],
    out: NDArray[Any],
    /,
) -> None: ...
def largest_magnitudes(values: NDArray[Any], nonnegative: bool, out: NDArray[Any], /) -> None: ...
def stream_sum(values: NDArray[Any], /) -> float: ...
def survey_symmetric(matrix: NDArray[Any], /) -> tuple[float, float, bool]: ...
def symmetric_step(
    matrix: NDArray[Any],
    support: NDArray[Any],
    weights: NDArray[Any],
    nonnegative: bool,
    indices: NDArray[Any],
    values: NDArray[Any],
    /,
) -> float: ...
def symmetric_steps(
    matrix: NDArray[Any],
    nonnegative: bool,
    indices: NDArray[Any],
    values: NDArray[Any],
    lengths: NDArray[Any],
    forms: NDArray[Any],
    repeated: NDArray[Any],
    /,
) -> int: ...
def search_blocks(
    matrix: NDArray[Any],
    picks: int,
    others: int,
    boundary: int,
    narrow: int,
    most_work: float,
    most_held: int,
    weights: NDArray[Any],
    support: NDArray[Any],
    /,
) -> tuple[int, int, float]: ...
def row_ceilings(
    block: NDArray[Any],
    own: NDArray[Any],
    weights: NDArray[Any],
    count: int,
    ceilings: NDArray[Any],
    thresholds: NDArray[Any],
) -> None: ...
def split_ceilings(
    matrix: NDArray[Any],
    rest: NDArray[Any],
    ratios: NDArray[Any],
    others: NDArray[Any],
    count: int,
    ceilings: NDArray[Any],
    thresholds: NDArray[Any],
) -> None: ...
def split_slopes(
    matrix: NDArray[Any],
    rest: NDArray[Any],
    ratios: NDArray[Any],
    thresholds: NDArray[Any],
    weight: NDArray[Any],
    density: NDArray[Any],
    floor: float,
    momentum: float,
    slope: NDArray[Any],
    turn: NDArray[Any],
    norms: NDArray[Any],
) -> None: ...
def split_update(
    matrix: NDArray[Any],
    rest: NDArray[Any],
    ratios: NDArray[Any],
    slope: NDArray[Any],
    turn: NDArray[Any],
    floor: float,
    step: float,
    most: float,
) -> None: ...
def top_row_sums(
    block: NDArray[Any],
    variables: NDArray[Any],
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
def fused_step(
    rows: NDArray[Any],
    vector: NDArray[Any],
    guess: float,
    product: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    combined: NDArray[Any],
    /,
) -> None: ...
def running_bounds(
    products: NDArray[Any],
    norms: NDArray[Any],
    unit: float,
    length: float,
    cosine: float,
    sine: float,
    slack: float,
    lower: NDArray[Any],
    upper: NDArray[Any],
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
    guess: float,
    indices: NDArray[Any],
    values: NDArray[Any],
    combined: NDArray[Any],
    /,
) -> int: ...
def graph_add_rows(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    vertices: NDArray[Any],
    sign: int,
    product: NDArray[Any],
    /,
) -> None: ...
def graph_signed_weight(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    vertices: NDArray[Any],
    signs: NDArray[Any],
    /,
) -> int: ...
def graph_top_vertices(
    product: NDArray[Any],
    members: NDArray[Any],
    loops: NDArray[Any],
    fixed: NDArray[Any],
    shift: int,
    out: NDArray[Any],
    /,
) -> None: ...
def graph_peel(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    loops: NDArray[Any],
    fixed: NDArray[Any],
    order: NDArray[Any],
    shares: NDArray[Any],
    /,
) -> None: ...
def graph_grow(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    loops: NDArray[Any],
    priority: NDArray[Any],
    seeds: NDArray[Any],
    order: NDArray[Any],
    /,
) -> None: ...
def graph_fair_loads(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    loops: NDArray[Any],
    sweeps: int,
    bits: int,
    loads: NDArray[Any],
    /,
) -> int: ...
def graph_exchange(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    loops: NDArray[Any],
    fixed: NDArray[Any],
    members: NDArray[Any],
    product: NDArray[Any],
    patience: int,
    max_steps: int,
    width: int,
    seed: int,
    /,
) -> tuple[int, int]: ...
def graph_is_symmetric(starts: NDArray[Any], neighbours: NDArray[Any], weights: NDArray[Any], /) -> bool: ...
def graph_induced_starts(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    vertices: NDArray[Any],
    position: NDArray[Any],
    out: NDArray[Any],
    /,
) -> None: ...
def graph_induced_rows(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    vertices: NDArray[Any],
    position: NDArray[Any],
    new_starts: NDArray[Any],
    new_neighbours: NDArray[Any],
    new_weights: NDArray[Any],
    /,
) -> None: ...
def decode_webgraph(
    data: NDArray[Any],
    position: int,
    form: NDArray[Any],
    first: int,
    last: int,
    starts: NDArray[Any],
    successors: NDArray[Any],
    /,
) -> int: ...
def graph_count_shared(starts: NDArray[Any], neighbours: NDArray[Any], shared: NDArray[Any], /) -> None: ...
def graph_find_local_set(
    starts: NDArray[Any],
    neighbours: NDArray[Any],
    edges: int,
    least: int,
    central: int,
    caps: NDArray[Any],
    most_work: int,
    chosen: NDArray[Any],
    /,
) -> tuple[int, int]: ...
def graph_project_rows(
    point: NDArray[Any],
    mirror: NDArray[Any],
    count: float,
    relaxation: float,
    thresholds: NDArray[Any],
    heights: NDArray[Any],
    /,
) -> None: ...
def graph_symmetrise(matrix: NDArray[Any], added: NDArray[Any], step: float, /) -> None: ...
