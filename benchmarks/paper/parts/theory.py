"""Sentences with a guarantee or a growth rate, sections 2 to 4: checked where a computer can check them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import sparseigen as se
from benchmarks.paper import objective
from benchmarks.paper.datasets import genes, pitprops
from benchmarks.paper.pieces import Outcome, Piece, Settings
from benchmarks.paper.solvers.components import COMPONENTS
from sparseigen.errors import ConvergenceWarning

PLAIN = {"start": "max-variance", "polish": None, "certify": False}
INSTANCES = 50


def _random(settings: Settings, number: int, size: int, *, indefinite: bool = False) -> np.ndarray:
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(7, size, number)))
    factor = rng.standard_normal((size, size))
    return (factor + factor.T) / 2.0 if indefinite else factor @ factor.T / size


def _follow(matrix: np.ndarray, cardinality: int, start: np.ndarray | None = None) -> list[np.ndarray]:
    """The iterates of Algorithm 1."""
    iterates: list[np.ndarray] = []
    options: dict[str, Any] = {**PLAIN, "start": PLAIN["start"] if start is None else start}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        se.sparse_eigenvector(
            matrix, cardinality, rtol=1e-14, on_iteration=lambda i, x, v: iterates.append(np.array(x)), **options
        )
    return iterates


def monotone(settings: Settings, block: int) -> dict[str, int]:
    """Steps of Algorithm 1 on positive semidefinite matrices, and those that lower the objective."""
    steps = falls = 0
    for number in range(INSTANCES):
        matrix = _random(settings, number, 60)
        values = [objective.variances(matrix, x[None])[0] for x in _follow(matrix, 5 + number % 20)]
        steps += len(values) - 1
        falls += int((np.diff(values) < -1e-12 * abs(values[-1])).sum())
    return {"steps": steps, "falls": falls}


def score_monotone(settings: Settings, raws: list[dict[str, int]]) -> Outcome:
    outcome = Outcome()
    outcome.add("falls", raws[0]["falls"], detail=f"{raws[0]['steps']} steps on {INSTANCES} random matrices.")
    return outcome


def shifted(settings: Settings, block: int) -> dict[str, int]:
    """Plain iterations on A whose lowest eigenvalue is the largest in size, and on A + shift I."""
    wrong = right = 0
    for number in range(INSTANCES):
        matrix = _random(settings, number, 40, indefinite=True)
        values = np.linalg.eigvalsh(matrix)
        matrix -= (0.75 * (values[-1] + values[0]) + 0.5 * (values[-1] - values[0])) * np.eye(40) / 2.0
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        plain, moved = _power(matrix), _power(matrix - lowest * np.eye(40))
        found = objective.variances(matrix, np.array([plain, moved]))
        wrong += int(found[0] < 0.0)
        right += int(found[1] > found[0])
    return {"wrong": wrong, "right": right}


def _power(matrix: np.ndarray, cardinality: int = 10, steps: int = 500) -> np.ndarray:
    """Algorithm 1 as printed, without the library's guard against indefinite matrices."""
    vector = np.zeros(len(matrix))
    vector[np.argmax(np.diag(matrix))] = 1.0
    for _ in range(steps):
        product = matrix @ vector
        kept = np.argsort(-np.abs(product), kind="stable")[:cardinality]
        vector = np.zeros(len(matrix))
        vector[kept] = product[kept]
        vector /= np.linalg.norm(vector)
    return vector


def score_shifted(settings: Settings, raws: list[dict[str, int]]) -> Outcome:
    outcome, raw = Outcome(), raws[0]
    detail = f"The plain iteration ended at the negative end in {raw['wrong']} of {INSTANCES} cases."
    outcome.add("negative end", raw["wrong"], of=INSTANCES, detail="Of matrices with -lambda_p > lambda_1.")
    outcome.add("higher", raw["right"], of=INSTANCES, detail=detail)
    return outcome


def starts(settings: Settings, block: int) -> dict[str, Any]:
    """k Q(x0) over the optimum: exact on PitProps, over a proven upper bound on the genes."""
    matrix = pitprops.load().matrix
    ratios = {"pitprops": [k * matrix.diagonal().max() / se.solve_exact(matrix, k).value for k in range(1, 14)]}
    for name in genes.NAMES:
        matrix = genes.covariance(name)
        bounds = [r.certificate.upper_bound for r in se.cardinality_path(matrix, range(1, 501))]
        ratios[name] = [k * matrix.diagonal().max() / bound for k, bound in enumerate(bounds, start=1)]
    return ratios


def score_starts(settings: Settings, raws: list[dict[str, list[float]]]) -> Outcome:
    outcome = Outcome()
    for name, ratios in raws[0].items():
        holds = int((np.array(ratios) >= 1.0 - 1e-9).sum())
        outcome.add(name, holds, of=len(ratios), detail=f"Smallest k Q(x0) / optimum: {min(ratios):.4f}.")
    return outcome


def backward(settings: Settings, block: int) -> dict[str, list[float]]:
    """Backward elimination: (value / largest eigenvalue) / (k / p), and the deletion inequality along the way."""
    found: dict[str, list[float]] = {"guarantee": [], "deletion": []}
    cases = [pitprops.load().matrix, *(_random(settings, number, 15) for number in range(10))]
    for matrix in cases:
        size = len(matrix)
        top = np.linalg.eigvalsh(matrix)[-1]
        for k in range(1, size + 1):
            vector = se.sparse_eigenvector(matrix, k, method="backward", certify=False).vector
            value = objective.variances(matrix, objective.checked(vector, [k]))[0]
            found["guarantee"].append(float(value / top / (k / size)))
        kept = np.arange(size)
        while len(kept) > 1:
            before, m = np.linalg.eigvalsh(matrix[np.ix_(kept, kept)])[-1], len(kept)
            after = [
                np.linalg.eigvalsh(matrix[np.ix_(rest, rest)])[-1] for rest in (np.delete(kept, i) for i in range(m))
            ]
            found["deletion"].append(float(max(after) / before / ((m - 1) / m)))
            kept = np.delete(kept, int(np.argmax(after)))
    return found


def score_backward(settings: Settings, raws: list[dict[str, list[float]]]) -> Outcome:
    outcome = Outcome()
    for name, ratios in raws[0].items():
        holds = int((np.array(ratios) >= 1.0 - 1e-9).sum())
        outcome.add(name, len(ratios) - holds, detail=f"{len(ratios)} cases; smallest ratio {min(ratios):.4f}.")
    return outcome


def deflation(settings: Settings, block: int) -> dict[str, float]:
    """Projection deflation by the first component of PitProps: smallest eigenvalue, and the product with x."""
    matrix = pitprops.load().matrix
    vector = COMPONENTS["tpower"].find(matrix, [7])[0]
    projector = np.eye(len(matrix)) - np.outer(vector, vector)
    rest = projector @ matrix @ projector
    return {"smallest": float(np.linalg.eigvalsh(rest)[0]), "product": float(np.abs(rest @ vector).max())}


def score_deflation(settings: Settings, raws: list[dict[str, float]]) -> Outcome:
    outcome = Outcome()
    outcome.add("smallest", raws[0]["smallest"])
    outcome.add("product", raws[0]["product"])
    return outcome


def theorem(settings: Settings, block: int) -> dict[str, Any]:
    """Theorem 1 where it applies: a spike of 50 on one of 300 variables, 200,000 samples; k = 60, five starts."""
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(8,)))
    size, samples, k = 300, 200_000, 60
    root = np.eye(size)
    root[0, 0] = math.sqrt(51.0)
    # The triangular factor of a Wishart matrix (Bartlett): the covariance of that many samples without drawing them.
    factor = np.tril(rng.standard_normal((size, size)), -1) + np.diag(np.sqrt(rng.chisquare(samples - np.arange(size))))
    observed = root @ (factor @ factor.T / samples) @ root
    cases = []
    for weight in (0.6, 0.65, 0.7, 0.8, 0.9):
        start = np.zeros(size)
        start[0], start[1:k] = weight, math.sqrt((1.0 - weight**2) / (k - 1))
        check = se.recovery_check(root @ root, observed, k, start)
        errors = [math.sqrt(max(0.0, 1.0 - abs(x[0]))) for x in (start, *_follow(observed, k, start))]
        bounds = [check.error_bound(t) for t in range(len(errors))] if check.verdict == "applies" else []
        cases.append({"verdict": check.verdict, "errors": errors, "bounds": bounds})
    toy = np.zeros((2, 500))
    toy[0, :10] = toy[1, 10:20] = 10.0**-0.5
    true = np.eye(500) + 399.0 * np.outer(toy[0], toy[0]) + 299.0 * np.outer(toy[1], toy[1])
    return {"cases": cases, "toy": str(se.recovery_check(true, true, 10, toy[0]))}


def score_theorem(settings: Settings, raws: list[dict[str, Any]]) -> Outcome:
    outcome, cases = Outcome(), raws[0]["cases"]
    applies = [case for case in cases if case["verdict"] == "applies"]
    steps = sum(len(case["bounds"]) for case in applies)
    broken = sum(e > b for case in applies for e, b in zip(case["errors"], case["bounds"], strict=True))
    detail = (
        f"{steps} iterates from {len(applies)} starts where the theorem applies. On the paper's own toy model, even "
    )
    detail += f"without noise: {raws[0]['toy']}."
    outcome.add("violations", broken, detail=detail)
    return outcome


SAMPLES = (200, 400, 800, 1600, 3200)
SPARSITIES = (2, 4, 8, 16)
SIZES = (100, 200, 400)


def growth(settings: Settings, block: int) -> dict[str, list[float]]:
    """rho(E, s) of the spiked model (its lower end: a vector attains it), and rho(E), averaged over five draws."""
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed, spawn_key=(9,)))

    def mean(size: int, samples: int, sparsity: int | None) -> float:
        found = []
        for _ in range(5):
            spike = np.zeros(size)
            spike[:5] = 5.0**-0.5
            data = rng.standard_normal((samples, size)) + rng.standard_normal((samples, 1)) * spike
            error = data.T @ data / samples - np.eye(size) - np.outer(spike, spike)
            whole = float(np.abs(np.linalg.eigvalsh(error)).max())
            found.append(whole if sparsity is None else se.restricted_norm(error, sparsity)[0])
        return float(np.mean(found))

    return {
        "n": [mean(200, n, 8) for n in SAMPLES],
        "s": [mean(200, 800, s) for s in SPARSITIES],
        "p": [mean(p, 800, None) for p in SIZES],
    }


def score_growth(settings: Settings, raws: list[dict[str, list[float]]]) -> Outcome:
    outcome = Outcome()
    for name, axis in (("n", SAMPLES), ("s", SPARSITIES), ("p", SIZES)):
        slope = float(np.polyfit(np.log(axis), np.log(raws[0][name]), 1)[0])
        outcome.add(name, slope, detail=f"Fitted over {name} = {', '.join(map(str, axis))}.")
    return outcome


GENE_FILES = tuple(file for name in genes.NAMES for file in genes.files(name))
PIECES = [
    Piece("S2", "random", "monotone", monotone, score_monotone),
    Piece("S2", "random", "shift", shifted, score_shifted),
    Piece("S3", "spiked", "theorem-1", theorem, score_theorem),
    Piece("S3", "spiked", "growth", growth, score_growth),
    Piece("S4", "all", "start-1", starts, score_starts, files=GENE_FILES),
    Piece("S4", "random", "backward", backward, score_backward),
    Piece("S4", "pitprops", "deflation", deflation, score_deflation),
]
