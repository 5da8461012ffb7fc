"""Instances of 50 to 5,000 variables or vertices, for ``python -m fuzzing certificates --large``.

Enumeration cannot look there, so the optimum comes from the form of the matrix (`fuzzing.known`) or of the graph. Where
it is not known, two ways to ask the same question must not contradict each other. A new family is one function and one
row in its table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from fuzzing import claims, elsewhere, families
from fuzzing.carriers import Foreign, drawn_vector
from fuzzing.known import Blocks, Known, Outer, data_blocks
from fuzzing.truth import Truth, whole_numbers
from sparseigen.certificates import certify
from sparseigen.certificates.paths import certify_path
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.deflated import DEFLATIONS, find_unit_vector
from sparseigen.operators.deflated_data import DeflatedData

Array = np.ndarray
Generator = np.random.Generator
SMALLEST, QUICK, DENSE, LARGEST = 50, 400, 1200, 5000
"""Sizes; up to the second bounds are made one by one, above the third matrices are sparse."""
RAISED = 2.0**-40
"""What one of many equal blocks has more than the others, relative."""


def draw_size(rng: Generator, largest: int = LARGEST) -> int:
    """Most often some hundreds: those are quick to ask about."""
    return int(SMALLEST * (largest / SMALLEST) ** (rng.random() ** 5))


# --- matrices -----------------------------------------------------------------------------------------------------


def _draw_block(rng: Generator) -> Array:
    family = list(families.MATRICES)[int(rng.integers(len(families.MATRICES)))]
    return families.MATRICES[family](rng, int(rng.integers(2, 7)))


def _assemble(rng: Generator, blocks: list[Array]) -> tuple[sp.csr_array, Blocks]:
    size = sum(len(block) for block in blocks)
    order, places, begin = rng.permutation(size), [], 0
    for block in blocks:
        places.append(order[begin : begin + len(block)])
        begin += len(block)
    rows = np.concatenate([np.repeat(there, len(there)) for there in places])
    columns = np.concatenate([np.tile(there, len(there)) for there in places])
    entries = np.concatenate([block.ravel() for block in blocks])
    truths = {id(block): Truth.of_matrix(block) for block in blocks}
    known = Blocks([(truths[id(block)], there) for block, there in zip(blocks, places, strict=True)], size)
    return sp.csr_array((entries, (rows, columns)), (size, size)), known


def equal_blocks(rng: Generator) -> tuple[Any, Known]:
    """One block many times, and once a hair more."""
    block = _draw_block(rng)
    raised = block + RAISED * float(np.abs(block).max()) * np.eye(len(block))
    return _assemble(rng, [raised, *[block] * (draw_size(rng) // len(block))])


def different_blocks(rng: Generator) -> tuple[Any, Known]:
    """Up to a dozen blocks of any families, each some times."""
    kinds, size = [_draw_block(rng) for _ in range(int(rng.integers(2, 13)))], draw_size(rng, 1000)
    blocks: list[Array] = []
    while sum(map(len, blocks)) < size:
        blocks.append(kinds[int(rng.integers(len(kinds)))])
    return _assemble(rng, blocks)


def blocks_of_ones(rng: Generator) -> tuple[Any, Known]:
    """Ties of whole groups."""
    ones = np.ones((int(rng.integers(1, 7)),) * 2) * 2.0 ** int(rng.integers(-20, 20))
    return _assemble(rng, [ones] * (draw_size(rng) // len(ones) + 1))


def diagonal(rng: Generator) -> tuple[Any, Known]:
    """Numbers on the diagonal, many of them equal."""
    values = np.round(rng.standard_normal(draw_size(rng)) * float(rng.choice([2.0, 1e3]))) + 1.0
    return _assemble(rng, [np.array([[value]]) for value in values])


def outer_product(rng: Generator) -> tuple[Any, Known]:
    """aI + b dd': rank one, equal correlations, all ones."""
    d = rng.integers(-20, 21, draw_size(rng, DENSE)) * int(rng.integers(0, 2)) + int(rng.integers(0, 3))
    d[0] = 3
    a, b = float(rng.integers(-3, 4)), float(rng.choice([-1.0, 1.0])) * 2.0 ** int(rng.choice([-900, -30, 0, 5, 900]))
    a *= abs(b)
    matrix = b * np.outer(d, d).astype(float) + a * np.eye(len(d))
    return matrix, Outer(d.tolist(), Fraction(b), Fraction(a))


MATRICES: dict[str, Callable[[Generator], tuple[Any, Known]]] = {
    "equal blocks": equal_blocks,
    "different blocks": different_blocks,
    "blocks of ones": blocks_of_ones,
    "diagonal": diagonal,
    "aI + bdd'": outer_product,
}


def carry_matrix(rng: Generator, matrix: Any, known: Known) -> tuple[str, Any, Known]:
    """One of the forms in which a matrix is given, with what is known of it then."""
    form, dense = int(rng.integers(6)), None
    if known.size <= DENSE:
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    if dense is None or form == 0:
        return "sparse", sp.csr_array(matrix), known
    if form == 1:
        with np.errstate(over="ignore"):
            return "foreign", Foreign(np.where(np.triu(np.ones_like(dense)) > 0, dense, dense.T)), known
    if form == 2 and isinstance(known, Blocks):
        return _deflate(rng, as_operator(dense), known)
    if form == 3:
        kept = np.sort(rng.permutation(known.size)[: int(rng.integers(SMALLEST, known.size + 1))])
        return "restricted", as_operator(dense).restricted(kept), known.restricted(kept.tolist())
    return "dense", dense if form == 4 else np.asfortranarray(dense), known


def _deflate(rng: Generator, operator: Any, known: Blocks) -> tuple[str, Any, Known]:
    """A component of one block taken out: no other block changes."""
    number, name = int(rng.integers(len(known.blocks))), str(rng.choice(sorted(DEFLATIONS)))
    truth, places = known.blocks[number]
    vector = np.zeros(known.size)
    vector[places] = drawn_vector(rng, len(places))
    following = DEFLATIONS[name](operator, vector)
    if following is operator:
        return "plain", operator, known
    if isinstance(following, DeflatedData):
        x = find_unit_vector(operator, vector)[places]
        regressed = following.taken_out[-1] == "schur"
        truth = truth.regressed(x) if regressed else truth.projected(x[:, None], x[:, None])
    elif getattr(following, "left", None) is not None:
        if np.delete(following.left, places, axis=0).any():
            raise AssertionError("a deflation of one block changes another")
        truth = truth.updated(following.left[places], following.middle)
    return "deflated", following, known.replaced(number, truth)


# --- data ---------------------------------------------------------------------------------------------------------


def data_of_blocks(rng: Generator) -> tuple[Array, Known, dict[str, Any]]:
    """Samples that each touch a few variables, with their opposites, so that centring changes nothing."""
    kinds, parts = [], []
    for _ in range(int(rng.integers(1, 5))):
        family = list(families.DATA)[int(rng.integers(len(families.DATA)))]
        half = families.DATA[family](rng, int(rng.integers(2, 5)), int(rng.integers(2, 6)))
        half = families.as_single(half).astype(float) if rng.random() < 0.5 else half
        kinds.append(np.concatenate([half, -half]))
    while sum(part.shape[1] for part in parts) < draw_size(rng, 400):
        parts.append(kinds[int(rng.integers(len(kinds)))])
    size, samples = sum(part.shape[1] for part in parts), sum(map(len, parts))
    order, places, data = rng.permutation(size), [], np.zeros((samples, size))
    row = column = 0
    for part in parts:
        places.append(order[column : column + part.shape[1]])
        data[row : row + len(part), places[-1]] = part
        row, column = row + len(part), column + part.shape[1]
    # Scaling leaves out columns that are nearly constant; which, the small instances look at.
    scale = bool(rng.random() < 0.3 and all((np.abs(part).max(axis=0) > 1e-100).all() for part in kinds))
    options = {"center": bool(rng.random() < 0.5), "scale": scale, "ddof": int(rng.integers(2))}
    known = data_blocks(parts, places, samples, scale=scale, ddof=options["ddof"])
    return data[rng.permutation(samples)], known, options


def two_samples(rng: Generator) -> tuple[Array, Known, dict[str, Any]]:
    """Two rows: the covariance is an outer product, also where sizes go from 1 to 1e149."""
    size = draw_size(rng)
    span = float(rng.choice([0.0, 10.0, 149.0]))
    data = np.round(rng.standard_normal((2, size)), 3) * 10.0 ** np.linspace(0.0, span, size)[rng.permutation(size)]
    table, denominator = whole_numbers(data)
    ddof = int(rng.integers(2))
    d = [first - second for first, second in zip(*table, strict=True)]
    known = Outer(d, Fraction(1, 2 * (2 - ddof) * denominator**2))
    return data, known, {"center": True, "scale": False, "ddof": ddof}


def one_factor(rng: Generator) -> tuple[Array, Known, dict[str, Any]]:
    """Multiples of one sample, not centred: columns repeat in size and in sign."""
    weights, sample = rng.integers(-4, 5, int(rng.integers(2, 30))), rng.integers(-9, 10, draw_size(rng))
    weights[0] = sample[0] = 3
    unit = 2.0 ** int(rng.choice([-300, 0, 300]))
    ddof = int(rng.integers(2))
    over = Fraction(unit) ** 2 * Fraction(int(weights @ weights), len(weights) - ddof)
    known = Outer(sample.tolist(), over)
    return unit * np.outer(weights, sample), known, {"center": False, "scale": False, "ddof": ddof}


DATA: dict[str, Callable[[Generator], tuple[Array, Known, dict[str, Any]]]] = {
    "data of blocks": data_of_blocks,
    "two samples": two_samples,
    "one factor": one_factor,
}


def _save(folder: Path, data: Array) -> Path:
    np.save(folder / "data.npy", data)
    return folder / "data.npy"


def _cut(rng: Generator, data: Array) -> list[Array]:
    step = int(rng.integers(1, len(data) + 1))
    return [data[begin : begin + step] for begin in range(0, len(data), step)]


def _to_torch(rng: Generator, data: Array, folder: Path) -> tuple[Any, dict[str, Any]]:
    import torch

    return torch.tensor(data), {}


def _to_dask(rng: Generator, data: Array, folder: Path) -> tuple[Any, dict[str, Any]]:
    parts = [functools.partial(np.copy, part) for part in _cut(rng, data)]
    return parts, {"client": elsewhere._client()}


FORMS: dict[str, Callable[[Generator, Array, Path], tuple[Any, dict[str, Any]]]] = {
    "data": lambda rng, data, folder: (data, {}),
    "Fortran order": lambda rng, data, folder: (np.asfortranarray(data), {}),
    "sparse data": lambda rng, data, folder: (sp.csr_array(data), {}),
    "blocks of rows": lambda rng, data, folder: (_cut(rng, data), {"shape": data.shape}),
    "file": lambda rng, data, folder: (_save(folder, data), {}),
    "memory map": lambda rng, data, folder: (np.load(_save(folder, data), mmap_mode="r"), {}),
    "torch tensor": _to_torch,
    "Dask cluster": _to_dask,
}
"""Ways to give data, and the options of `covariance` that go with them."""


def draw_form(rng: Generator) -> str:
    """A way to give data that can be tried here; a cluster takes long, and is rare."""
    forms = [form for form in FORMS if form not in elsewhere.missing()]
    chances = np.array([0.1 if form == "Dask cluster" else 1.0 for form in forms])
    return str(rng.choice(forms, p=chances / chances.sum()))


# --- what is asked ------------------------------------------------------------------------------------------------


class Question(claims.Question):
    """The same questions as of small matrices; cardinalities are most often small."""

    def cardinality(self) -> int:
        if self.rng.random() < 0.1:
            return int(self.rng.integers(1, self.size + 1))
        return int(self.rng.integers(1, min(40, self.size) + 1))

    def cardinalities(self, count: int) -> list[int]:
        return sorted({self.cardinality() for _ in range(count)})

    def vector(self, cardinality: int) -> SparseVector:
        rng = self.rng
        order = np.argsort(-as_operator(self.given).diagonal(), kind="stable")
        chosen = np.sort(order[:cardinality] if rng.random() < 0.7 else rng.permutation(self.size)[:cardinality])
        weights = rng.standard_normal(cardinality)
        return SparseVector(chosen.astype(np.int64), weights / np.linalg.norm(weights))


def follow_path(question: Question) -> Iterator[claims.Claim]:
    """`cardinality_path`, both ends."""
    which = "largest" if question.rng.random() < 0.7 else "smallest"
    effort = str(question.rng.choice(["quick", "default"], p=[0.3, 0.7]))
    ks = question.cardinalities(24)
    for result in se.cardinality_path(question.given, ks, which=which, effort=effort):
        yield claims._of_result(f"cardinality_path {which}", result, which=which)


def prove_exactly(question: Question) -> Iterator[claims.Claim]:
    """`solve_exact`, most often stopped early."""
    k = question.cardinality()
    yield claims._of_result("solve_exact", se.solve_exact(question.given, k, time_limit=0.3))


def certify_some(question: Question) -> Iterator[claims.Claim]:
    """Brackets from arbitrary vectors, one by one and along a path."""
    operator, ks = as_operator(question.given), question.cardinalities(6)
    vectors = [question.vector(k) for k in ks]
    for k, vector in zip(ks, vectors, strict=True):
        effort = "default" if question.size <= QUICK and question.rng.random() < 0.5 else "cheap"
        found = certify(operator, k, vector, effort=effort, seconds=claims.SECONDS)
        yield claims._bracket(f"certify {effort}", k, found, vector=vector.spread(question.size))
    if question.size > DENSE:
        return
    for k, found in zip(ks, certify_path(operator, ks, vectors), strict=True):
        if np.isfinite(found.upper_bound):
            yield claims._bracket("shared path bounds", k, found)


def other_methods(question: Question) -> Iterator[claims.Claim]:
    """The other solvers, where they are quick."""
    if question.size <= 100:
        yield from claims.other_methods(question)


ASKED: dict[Callable[[Question], Iterator[claims.Claim]], float] = {
    claims.solved: 0.7,
    follow_path: 0.6,
    certify_some: 0.6,
    claims.alone: 0.3,
    claims.bounded: 0.2,
    prove_exactly: 0.1,
    claims.components: 0.15,
    other_methods: 0.2,
}
"""What is asked, and how often."""


def asked(rng: Generator) -> list[Callable[[Question], Iterator[claims.Claim]]]:
    """The functions to ask about one matrix."""
    return [ask for ask, share in ASKED.items() if rng.random() < share]


def draw_question(rng: Generator, folder: Path) -> tuple[str, str, Any, Known, Array]:
    """A family, how it is given, what is given to sparseigen, what is known of it, and the numbers as an array."""
    if rng.random() < 0.55:
        family = str(rng.choice(list(MATRICES)))
        matrix, known = MATRICES[family](rng)
        values = matrix.data[None] if sp.issparse(matrix) else matrix
        label, given, known = carry_matrix(rng, matrix, known)
        return family, label, given, known, values
    family, form = str(rng.choice(list(DATA))), draw_form(rng)
    data, known, options = DATA[family](rng)
    given, more = FORMS[form](rng, data, folder)
    operator = se.covariance(given, **options, **more)
    if form == "data" and isinstance(known, Blocks) and not options["scale"] and rng.random() < 0.3:
        form, operator, known = _deflate(rng, operator, known)
    return family, form, operator, known, data
