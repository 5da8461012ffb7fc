"""`ComponentSet`: several components and one statement about all of them."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sparseigen.results.certificate import Certificate, reduce_to_fields
from sparseigen.results.eigenvector import SparseEigResult
from sparseigen.results.figures import MOST_BARS, draw_heat_map

Vector = NDArray[np.float64]

ADJECTIVES = {None: "", "orthogonal": "orthogonal ", "uncorrelated": "uncorrelated "}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComponentSet(Sequence[SparseEigResult]):
    """A set of sparse components: a sequence of its results, the variance they explain, and one certificate.

    Attributes
    ----------
    results : tuple of SparseEigResult
        The components. The set iterates over them, and ``found[0]`` is the first.
    constraint : {None, "orthogonal", "uncorrelated"}
        What was asked of every pair of components.
    disjoint : bool
        Whether no variable may be in two components.
    variances : mapping of str to ndarray
        The variance of each component of A itself in the three definitions ("plain", "adjusted", "span").
    total_variance : float
        Trace of the matrix: the variance of all variables.
    violation : float
        The largest inner product of two components of an orthogonal or a free set; the largest correlation of two
        scores of an uncorrelated one.
    certificate : Certificate or None
        The bracket for ``value``: no set with these cardinalities (and this constraint) explains more than its upper
        end. The lower end is what this set reaches, with the violation stated.
    reason : str
        Why there is no certificate, or how its bound is meant; empty where nothing needs to be said.
    seconds : float
        Wall-clock time of the search, without the certificate.

    Examples
    --------
    >>> import sparseigen as se
    >>> found = se.sparse_components(se.datasets.load_pitprops().matrix, [4, 4], constraint="orthogonal")
    >>> len(found), found.violation <= 1e-12, found.certificate.relative_gap < 0.03
    (2, True, True)
    >>> found.describe()
    'proven: no set of 2 x 4 orthogonal components explains more than this one, 40.4 %'
    """

    results: tuple[SparseEigResult, ...]
    constraint: str | None
    disjoint: bool
    variances: Mapping[str, Vector]
    total_variance: float
    violation: float
    certificate: Certificate | None
    reason: str = ""
    seconds: float = 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_to_fields(self)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SparseEigResult]:
        return iter(self.results)

    @overload
    def __getitem__(self, place: int) -> SparseEigResult: ...
    @overload
    def __getitem__(self, place: slice) -> list[SparseEigResult]: ...
    def __getitem__(self, place: int | slice) -> SparseEigResult | list[SparseEigResult]:
        return list(self.results[place]) if isinstance(place, slice) else self.results[place]

    @property
    def vectors(self) -> Vector:
        """The components, one per row."""
        return np.array([result.vector for result in self.results])

    @property
    def cardinalities(self) -> list[int]:
        """The numbers of non-zeros asked for."""
        return [result.cardinality for result in self.results]

    @property
    def definition(self) -> str:
        """The definition of variance that ``value`` and the certificate speak of: plain, or span for free sets."""
        return "span" if self.constraint is None and not self.disjoint else "plain"

    @property
    def value(self) -> float:
        """The variance of the whole set, in that definition."""
        return float(self.variances[self.definition].sum())

    @property
    def shares(self) -> dict[str, float]:
        """The share of the total variance that the set explains, in each definition."""
        total = self.total_variance if self.total_variance > 0.0 else np.inf
        return {name: float(variances.sum()) / total for name, variances in self.variances.items()}

    @property
    def size(self) -> str:
        """The cardinalities in short: "3 x 20", or "8 + 4 + 4"."""
        ks = self.cardinalities
        return f"{len(ks)} x {ks[0]}" if len(set(ks)) == 1 else " + ".join(map(str, ks))

    def describe(self) -> str:
        """One sentence: what is proven of sets like this one, and what this one explains."""
        kind = f"{'disjoint ' if self.disjoint else ''}{ADJECTIVES[self.constraint]}components"
        total = self.total_variance if self.total_variance > 0.0 else np.inf
        explains = f"{100.0 * self.value / total:.1f} %"
        if self.certificate is None:
            return f"a set of {self.size} {kind} that explains {explains}; nothing is proven: {self.reason}"
        if self.certificate.optimal:
            return f"proven: no set of {self.size} {kind} explains more than this one, {explains}"
        most = np.ceil(1e5 * self.certificate.upper_bound / total) / 1e3
        return f"proven: no set of {self.size} {kind} explains more than {most:.1f} %; this one explains {explains}"

    def __repr__(self) -> str:
        proof = "uncertified" if self.certificate is None else str(self.certificate)
        kind = "disjoint " * self.disjoint + (self.constraint or "free")
        share = self.shares[self.definition]
        return f"ComponentSet({self.size}, {kind}, share {share:.4f}, violation {self.violation:.1e}, {proof})"

    def to_rows(self) -> list[dict[str, Any]]:
        """One dict per component: variables and the three variances."""
        total = self.total_variance if self.total_variance > 0.0 else np.inf
        return [
            {
                "component": t + 1,
                "cardinality": result.cardinality,
                **{f"{name}_variance": float(variances[t]) for name, variances in self.variances.items()},
                **{f"{name}_share": float(variances[t]) / total for name, variances in self.variances.items()},
                "variables": list(result.loadings),
            }
            for t, result in enumerate(self.results)
        ]

    def _repr_html_(self) -> str:
        names = list(self.variances)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("component", *names, "variables"))
        total = self.total_variance if self.total_variance > 0.0 else np.inf
        body = "".join(
            f"<tr><td>{t + 1}</td>{''.join(f'<td>{self.variances[name][t] / total:.2%}</td>' for name in names)}"
            f"<td>{html.escape(', '.join(result.loadings))}</td></tr>"
            for t, result in enumerate(self.results)
        )
        said = html.escape(self.describe())
        return f"<p>{said}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def plot(self, *, ax: Any = None, engine: str | None = None) -> Any:
        """The supports side by side, one column per component and one row per variable, by plotly or matplotlib."""
        vectors = self.vectors
        used = np.flatnonzero(vectors.any(axis=0))
        first = np.argmax(vectors[:, used] != 0.0, axis=0)
        order = used[np.lexsort((-np.abs(vectors[:, used]).max(axis=0), first))]
        names = [self.results[0].name_of(int(i)) for i in order]
        total = self.total_variance if self.total_variance > 0.0 else np.inf
        heads = [f"PC{t + 1} {v / total:.1%}" for t, v in enumerate(self.variances["plain"])]
        kept = min(len(names), MOST_BARS)
        more = f" (the first {kept} of {len(names)} variables)" if len(names) > kept else ""
        table = vectors[:, order[:kept]].T
        return draw_heat_map(
            names[:kept],
            heads,
            table,
            title=self.describe() + more,
            purpose="ComponentSet.plot()",
            ax=ax,
            engine=engine,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "constraint": self.constraint,
            "disjoint": self.disjoint,
            "cardinalities": self.cardinalities,
            "value": self.value,
            "definition": self.definition,
            "variances": {name: variances.tolist() for name, variances in self.variances.items()},
            "shares": self.shares,
            "total_variance": self.total_variance,
            "violation": self.violation,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "reason": self.reason,
            "seconds": self.seconds,
            "components": [result.to_dict() for result in self.results],
        }
