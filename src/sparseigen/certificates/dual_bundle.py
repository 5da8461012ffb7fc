"""The best dual points by a bundle method: a few cuts of the relaxation, and the mixture of them that proves most.

With X = U diag(s) U' of trace one and h = F U, the relaxation of the penalised problem is

    g(X) = min over rho of k rho + sum_i t_i(X, rho),    sum_j h_ij^2 s_j / (t_i + rho s_j) = 1,

t_i being zero where |f_i|^2 <= rho. It is concave in X, convex in rho with slope k - (sum of memberships), and no dual
points prove less than its maximum. The points z_ij ~ h_ij / (t_i + rho s_j) at any X and rho give a cut: g(Y) <=
<G, Y> + k rho for every Y, with G = sum_i z_i z_i'. Several cuts with weights w of sum one prove

    lambda_max(sum_j w_j G_j) + k sum_j w_j rho_j

(`dual_points` says why), so the weights are chosen to make that small, and the next X maximises the smallest of the
cuts less a multiple of its divergence from the best X so far. Both are small smooth problems in the weights: in a
space of few eigenvectors, with a soft largest eigenvalue, by Newton's method. After the first steps the newest cut
alone says where to go: the exponentiated gradient.

X has few eigenvalues that matter. The others are taken to be equal, so that h has few columns: a cut costs one Gram
matrix of the points.

C. Helmberg and F. Rendl, "A spectral bundle method for semidefinite programming", SIAM J. Optim. 10 (2000).
"""

from __future__ import annotations

import numpy as np

from sparseigen.certificates.dual_points import ClosedForm, Cut, Mixture, find_cut_points
from sparseigen.certificates.factor import Array, namespace, place_like, row_dots, to_host
from sparseigen.certificates.problem import Numbers
from sparseigen.certificates.rounding import TINY

LEADING = 24
"""Eigenvalues of X that are told apart."""
FOLLOWED = 16
"""Leading eigenvectors of a mixture in which its weights are chosen."""
MOST_CUTS, NEWEST = 16, 3
"""Cuts that are kept, and how many of the newest among them whatever their weight."""
STEP, TOGETHER = 4.0, 6
"""The divergence counts as lambda_max(G) over the first; so many steps look at all cuts, the others at the newest one:
far from the best X that one misleads, near it steps along single cuts are what mixtures are best made of."""
DEPTH, NEXT_DEPTH, DEEPEST = 8.0, 6.0, 35.0
"""Logarithm of the ratio between eigenvalues of X, growing by one per step: near rank one the points jump. The second
is where a bundle begins that goes on from a neighbour's, whose leading direction is another."""
SOFT = 0.1
"""Smoothing of the largest eigenvalue of a mixture, as a share of what is still to be gained."""
BARRIER = 0.01
"""How much weights are kept from zero, as a share of the smoothing."""
NEWTON_STEPS = 6
PENALTIES, BALANCED = 2, 5e-3
"""Penalties tried per cut, and how near the sum of memberships has to come to k."""
LARGEST_SINGLE = 1e15
"""Points in float32 beyond this promise nothing."""
LEAST_WEIGHT = 5e-3
"""Cuts of less weight are not proven."""


class DualBundle:
    """Cuts so far, and the weights of the best mixture.

    ``bound`` is what that proves up to rounding; no dual points prove less than ``limit``.
    """

    def __init__(
        self,
        rows: Array,
        cardinality: int,
        direction: Array,
        penalty: float,
        *,
        floor: float = 0.0,
        begun: Numbers | None = None,
    ) -> None:
        """Begin near the rank-one X of a direction; the penalty does not fall below ``floor``.

        ``begun`` is log X of a bundle that this one goes on from (its ``center``), in place of that X.
        """
        self.cardinality, self.floor, self.penalty = cardinality, floor, penalty
        self.rank = int(rows.shape[1])
        # Points promise only, until they are measured: half the memory, twice the speed.
        with np.errstate(over="ignore"):  # `step` looks at what is too long for float32
            self.rows = rows.astype(np.float32) if isinstance(rows, np.ndarray) else rows
            self.lengths = row_dots(self.rows, self.rows)
        self.longest = float(self.lengths.max())
        self.members: list[ClosedForm | Cut] = []
        self.grams = np.zeros((0, self.rank, self.rank))
        self.offsets, self.mixed, self.proximal = np.zeros(0), np.zeros(0), np.zeros(0)
        self.bound, self.limit, self.steps = np.inf, -np.inf, 0
        self.kept: Mixture | None = None
        self.seen = penalty, float(cardinality)
        """The last penalty, and the sum of memberships there."""
        self.slope = -2.0
        """Of the logarithm of memberships along that of the penalty."""
        along = to_host(direction)
        low = np.log(0.1 / self.rank)
        closest: Numbers = low * np.eye(self.rank) + (np.log(0.9) - low) * np.outer(along, along)
        self.center, self.depth = (closest, DEPTH) if begun is None else (begun, NEXT_DEPTH)
        self.logarithm = self.center

    def add_form(self, form: ClosedForm) -> None:
        """Let a closed form take part."""
        if form.gram is not None and np.isfinite(form.promise):
            self._add(form, to_host(form.gram).astype(np.float64), form.penalty)

    def step(self) -> bool:
        """One more cut; False where numbers leave the range and no other would be better."""
        if not np.isfinite(self.longest):
            return False
        values, vectors = np.linalg.eigh(self.logarithm)
        values = np.maximum(values - values[-1], -self.depth)
        weights = np.exp(values)
        weights /= weights.sum()
        lead = min(LEADING, self.rank)
        tail = float(weights[:-lead].mean()) if lead < self.rank else float(weights[0])
        found = self._find_cut(vectors[:, -lead:], weights[-lead:], tail)
        if found is None:
            return False
        cut, gram, relaxed, members = found
        here = (vectors * values) @ vectors.T
        lower = relaxed - abs(self.cardinality - members) * cut.penalty
        if lower > self.limit or self.steps >= TOGETHER:
            self.center = here
        if members < 2.0 * self.cardinality:  # else the penalty may have to move by more than its own size
            self.limit = max(self.limit, lower)
        self._add(cut, gram, cut.penalty)
        self.depth, self.steps = min(self.depth + 1.0, DEEPEST), self.steps + 1
        scale = max(float(np.linalg.eigvalsh(gram)[-1]), TINY) / STEP
        if self.steps <= TOGETHER:
            self.proximal = self._choose_weights(self.proximal, scale * self.center, scale)
            gram = np.tensordot(self.proximal, self.grams, 1)
        self.logarithm = self.center + gram / scale
        return True

    def advance(self, achieved: float) -> bool:
        """A step and, after every other one, new weights."""
        if not self.step():
            return False
        if self.steps % 2 == 1:
            self.mix(achieved)
        return True

    def finish(self, achieved: float) -> None:
        """Choose the weights once more where the last step did not."""
        if self.steps % 2 == 0 and len(self.members) > 1:
            self.mix(achieved)

    def mix(self, achieved: float) -> None:
        """Choose the weights of the mixture; ``achieved`` is what no bound can fall below."""
        to_gain = max(self.bound - max(self.limit, achieved), 1e-7 * abs(self.bound))
        soft = SOFT * to_gain / np.log(self.rank + 1.0)
        self.mixed = self._choose_weights(self.mixed, np.zeros((self.rank, self.rank)), soft)
        self._look(self.mixed)

    def mixture(self) -> Mixture:
        """The best mixture so far, its smallest weights left out."""
        assert self.kept is not None
        return self.kept

    def _find_cut(self, basis: Numbers, weights: Numbers, tail: float) -> tuple[Cut, Numbers, float, float] | None:
        """The cut at X, its Gram matrix, the relaxed value and the sum of memberships there."""
        xp, cardinality = namespace(self.rows), self.cardinality
        projected = self.rows @ place_like(basis.astype(to_host(self.rows[:0]).dtype), self.rows)
        for trial in range(PENALTIES):
            penalty = max(min(self.penalty, 0.98 * self.longest), self.floor)
            active = xp.where(self.lengths > penalty)[0]
            if len(active) == 0:
                return None
            cut = Cut(basis, weights, tail, penalty)
            with np.errstate(all="ignore"):
                points, total, members = find_cut_points(self.rows[active], projected[active], cut)
            if not (members > 0.0 and float(xp.abs(points).max()) < LARGEST_SINGLE):
                return None  # rows of very different size: this step proves nothing, nor would later ones
            self._follow_members(penalty, members, learn=trial > 0)
            if abs(members / cardinality - 1.0) < BALANCED:
                break
        gram = to_host(points.T @ points).astype(np.float64)
        return cut, gram, total + cardinality * penalty, members

    def _follow_members(self, penalty: float, members: float, *, learn: bool) -> None:
        """The next penalty: memberships fall as a power of it, which two penalties at one X tell."""
        if learn and abs(np.log(self.seen[0] / penalty)) > 1e-4:
            slope = float(np.log(self.seen[1] / members) / np.log(self.seen[0] / penalty))
            self.slope = slope if -50.0 < slope < -0.3 else self.slope
        self.seen = penalty, members
        ratio = float(np.clip(members / self.cardinality, 0.05, 20.0)) ** (-1.0 / self.slope)
        self.penalty = penalty * float(np.clip(ratio, 0.5, 2.0))

    def _add(self, member: ClosedForm | Cut, gram: Numbers, penalty: float) -> None:
        """A new cut, in the place of the one of least weight where there are many."""
        self.members.append(member)
        self.grams = np.concatenate([self.grams, gram[None]])
        self.offsets = np.append(self.offsets, self.cardinality * penalty)
        self.mixed, self.proximal = (
            np.append(0.7 * weights, 0.3) if len(weights) else np.ones(1) for weights in (self.mixed, self.proximal)
        )
        alone = np.zeros(len(self.members))
        alone[-1] = 1.0
        self._look(alone)
        if len(self.members) > MOST_CUTS:
            least = int(np.argmin((self.mixed + self.proximal)[:-NEWEST]))
            del self.members[least]
            self.grams = np.delete(self.grams, least, axis=0)
            self.offsets, self.mixed, self.proximal = (
                np.delete(numbers, least) for numbers in (self.offsets, self.mixed, self.proximal)
            )

    def _look(self, weights: Numbers) -> None:
        """Keep a mixture that promises more than those before."""
        used = np.flatnonzero(weights > LEAST_WEIGHT)
        shares = weights[used] / weights[used].sum()
        top = float(np.linalg.eigvalsh(np.tensordot(shares, self.grams[used], 1))[-1])
        promise = top + float(shares @ self.offsets[used])
        if promise < self.bound:
            self.bound, self.kept = promise, Mixture(tuple(self.members[at] for at in used), shares, promise)

    def _choose_weights(self, weights: Numbers, offset: Numbers, soft: float) -> Numbers:
        """Weights that make the soft largest eigenvalue of offset + the mixture, and its penalties, small."""
        weights = np.maximum(weights, 1e-3)
        weights /= weights.sum()
        vectors = np.linalg.eigh(offset + np.tensordot(weights, self.grams, 1))[1][:, -FOLLOWED:]
        small = vectors.T @ self.grams @ vectors
        return minimise_on_simplex(small, vectors.T @ offset @ vectors, self.offsets, soft, weights)


def minimise_on_simplex(matrices: Numbers, offset: Numbers, costs: Numbers, soft: float, weights: Numbers) -> Numbers:
    """Weights w > 0 of sum one that make t log trace exp((offset + sum_j w_j M_j) / t) + w'costs small.

    Newton's method with a logarithmic barrier, from the weights given.
    """
    count, barrier = len(costs), BARRIER * soft

    def evaluate(weights: Numbers) -> float:
        values = np.linalg.eigvalsh(offset + np.tensordot(weights, matrices, 1))
        smooth = values[-1] + soft * np.log(np.exp((values - values[-1]) / soft).sum())
        return float(smooth + weights @ costs - barrier * np.log(weights).sum())

    for _ in range(NEWTON_STEPS):
        values, basis = np.linalg.eigh(offset + np.tensordot(weights, matrices, 1))
        density = np.exp((values - values[-1]) / soft)
        density /= density.sum()
        rotated = basis.T @ matrices @ basis
        along = np.einsum("jaa->ja", rotated) @ density
        apart = values[:, None] - values
        equal = np.abs(apart) <= 1e-12 * max(abs(float(values[-1])), TINY)
        changes = np.where(equal, density[:, None] / soft, (density[:, None] - density) / np.where(equal, 1.0, apart))
        scaled = (rotated * np.sqrt(np.maximum(changes, 0.0))).reshape(count, -1)
        system = np.zeros((count + 1, count + 1))
        system[:count, :count] = scaled @ scaled.T - np.outer(along, along) / soft + np.diag(barrier / weights**2)
        system[:count, :count] += 1e-12 * np.trace(system) / count * np.eye(count)
        system[count, :count] = system[:count, count] = 1.0
        slope = along + costs - barrier / weights
        step = np.linalg.lstsq(system, np.append(-slope, 0.0))[0][:count]
        gain = -float(slope @ step)
        if not gain > 1e-3 * soft:
            break
        falling = step < 0.0
        length = min(1.0, 0.9 * float((-weights[falling] / step[falling]).min())) if falling.any() else 1.0
        now = evaluate(weights)
        for _ in range(12):
            if evaluate(weights + length * step) <= now - 1e-4 * gain * length:
                break
            length *= 0.5
        weights = np.maximum(weights + length * step, 1e-12)
        weights = weights / weights.sum()
    return weights
