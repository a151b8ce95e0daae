"""Candidates for what is left open: the number of clusters, their dimensions, a centre or none.

A candidate is a mixture of K Gaussians with R_k axes each and one noise variance (PPCA), fitted by
a few steps of EM from labels. If dimensions are open, candidates are ranked by

    C = -log likelihood + PENALTY/2 * (free parameters) * log n - sum_ik z_ik log z_ik,

the integrated completed likelihood [Biernacki et al. 2000] with a somewhat larger penalty; less is
better. What it does on real tables and on noise: benchmarks/automatic.py. The last term, the
entropy, would join clusters that overlap. Subspaces through the origin always do, so C leaves it
out for them. With given dimensions `choice` ranks by the leave-one-out likelihood.

======  ================  =========  ===========================================================
symbol  name              shape      meaning
======  ================  =========  ===========================================================
z       memberships       (n, K)     probability of each cluster given the sample
n_k     sizes             (K,)       sum of the memberships of a cluster
l_kr    eigenvalues       (K, p)     of the covariance of a cluster, the largest first
R_k     dimensions        (K,)       axes of a cluster
s2      noise             number     variance off the axes, of all clusters
======  ================  =========  ===========================================================
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from subspaces._types import Array, Labels, Mask
from subspaces.core.partition import Partition
from subspaces.core.ppca_mixture import n_parameters
from subspaces.psc.dense import search_rows
from subspaces.psc.settings import Settings, is_auto
from subspaces.runtime.parameters import as_generator
from subspaces.runtime.warning import collect_warnings
from subspaces.starts.spectral import k_means
from subspaces.subspace import centre_of, principal_axes

# Charge for a parameter, in units of BIC's. From 1 to 2 it makes little difference on real tables.
PENALTY = 1.25
# Dimensions that all clusters of a first candidate have; then each cluster gets its own.
COMMON = (0, 1, 2, 3, 5)
# Mixtures of common dimensions that go on with dimensions of their own.
WIDENED = 3
# Starts of a full search: few, since EM goes on from the best. Twelve took twice the time, and were
# no nearer the classes of 29 tables.
STARTS = 6
# Steps of EM from every start, from the best of them, and rounds in which dimensions are chosen.
SHORT, LONG, ROUNDS = 4, 8, 3
# A table of at least WIDE variables is seen through this many of its leading axes.
WIDE, AXES = 16, 10
# Noise is at least this share of the mean variance: tables are rounded.
LEAST_NOISE = 1e-4
# What a label counts as: this probability for its cluster, the rest for all.
SURE_OF_LABELS = 0.95
# Weight of an empty cluster, so that its share has a logarithm.
NOTHING = 1e-9
# Turns of noise and dimensions.
MOST_TURNS = 20
LOG_TWO_PI = float(np.log(2.0 * np.pi))

Numbers = Sequence[int] | Array


@dataclass(frozen=True)
class Candidate:
    """Labels (n,), the dimension of each cluster, whether they have centres, and the cost.

    cost: what candidates are ranked by, C unless `choice` says otherwise; less is better.
    """

    labels: Labels
    dimensions: tuple[int, ...]
    affine: bool
    cost: float

    @property
    def n_clusters(self) -> int:
        """Number of clusters, K."""
        return len(self.dimensions)


@dataclass(frozen=True)
class Mixture:
    """Memberships (n, K) after some steps of EM, and C."""

    memberships: Array
    dimensions: tuple[int, ...]
    cost: float


def leading_axes(X: Array, n_axes: int = AXES) -> Array:
    """Return X (n, p) along its leading axes, if it is wide; the origin stays where it is."""
    if X.shape[1] < WIDE:
        return X
    return X @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:n_axes].T


def of_number(rows: Array, settings: Settings, n_clusters: int) -> Iterator[Candidate]:
    """Yield the candidates of one number of clusters; none if there are too few samples."""
    if len(rows) < 2 * n_clusters:
        return
    models = (True, False) if is_auto(settings.affine) else (bool(settings.affine),)
    starts = dict(_starts(rows, settings, n_clusters, models))
    for affine in models:
        labels = [start for name, start in starts.items() if affine or name != "means"]
        if not labels:
            continue
        mixtures = [
            _best_climb(rows, labels, dimensions, affine)
            for dimensions in _common_dimensions(rows, settings, n_clusters, affine)
        ]
        if not mixtures:
            continue
        if is_auto(settings.n_components):
            best = sorted(mixtures, key=lambda mixture: mixture.cost)[:WIDENED]
            mixtures += [
                _with_own_dimensions(rows, each, affine, settings.max_components) for each in best
            ]
        for mixture in mixtures:
            candidate = _of_mixture(mixture, affine)
            if candidate is not None:
                yield candidate


def searched(rows: Array, settings: Settings, candidate: Candidate) -> Candidate | None:
    """Return the candidate that a full search with the numbers of another leads to, if any."""
    posed = replace(
        settings,
        n_clusters=candidate.n_clusters,
        n_components=list(candidate.dimensions),
        affine=candidate.affine,
        n_init=STARTS if settings.n_init == "auto" else settings.n_init,
    )
    with collect_warnings():
        labels = search_rows(rows, posed).labels
    mixture = _best_climb(rows, [labels], candidate.dimensions, candidate.affine)
    if is_auto(settings.n_components):
        mixture = _with_own_dimensions(rows, mixture, candidate.affine, settings.max_components)
    return _of_mixture(mixture, candidate.affine)


def _starts(
    rows: Array, settings: Settings, n_clusters: int, models: Sequence[bool]
) -> Iterator[tuple[str, Labels]]:
    """Yield labels to begin from: of K-means, and of PSC with planes from two starts."""
    dimension: Any = settings.n_components
    if np.ndim(dimension) == 0:
        random = as_generator(settings.random_state)
        # With three runs the number of clusters was further from that of the classes on 29 tables.
        yield "means", k_means(rows, n_clusters, random, n_starts=1)
    for affine in models:
        if is_auto(settings.n_components):
            dimension = min(2, _rank(rows, affine) - 1)
        if np.max(dimension) + affine < 1 or len(rows) < n_clusters * (np.max(dimension) + 3):
            continue
        posed = replace(
            settings, n_clusters=n_clusters, n_components=dimension, affine=affine, n_init=2
        )
        with collect_warnings():
            yield str(affine), search_rows(rows, posed).labels


def _common_dimensions(
    rows: Array, settings: Settings, n_clusters: int, affine: bool
) -> list[tuple[int, ...]]:
    if not is_auto(settings.n_components):
        given = np.broadcast_to(settings.n_components, n_clusters)
        return [tuple(int(r) for r in given)]
    most = min(settings.max_components, _rank(rows, affine) - 1)
    tried = [r for r in COMMON if (r > 0 or affine) and r <= most]
    return [(r,) * n_clusters for r in tried if n_clusters * (r + 3) <= len(rows)]


def _rank(rows: Array, affine: bool) -> int:
    """Return the rank of rows (n, p), from their mean if ``affine``: repeated rows lower it."""
    return principal_axes(rows - centre_of(rows, affine)).rank


def _best_climb(
    rows: Array, starts: Sequence[Labels], dimensions: tuple[int, ...], affine: bool
) -> Mixture:
    first = [_soft(start, len(dimensions)) for start in starts]
    climbs = [climb(rows, each, dimensions, affine, SHORT) for each in first]
    best = min(climbs, key=lambda mixture: mixture.cost)
    return climb(rows, best.memberships, dimensions, affine, LONG)


def _with_own_dimensions(rows: Array, mixture: Mixture, affine: bool, largest: int) -> Mixture:
    """Return the mixture with dimensions chosen for each cluster, and EM, in turn."""
    for _ in range(ROUNDS):
        dimensions = own_dimensions(rows, mixture, affine, largest)
        if dimensions == mixture.dimensions:
            break
        mixture = climb(rows, mixture.memberships, dimensions, affine, SHORT + LONG)
    return mixture


def _of_mixture(mixture: Mixture, affine: bool) -> Candidate | None:
    """Return the candidate of a mixture; None if a cluster has too few members to be fitted."""
    labels = np.argmax(mixture.memberships, axis=1)
    sizes = np.bincount(labels, minlength=len(mixture.dimensions))
    if np.any(sizes < np.add(mixture.dimensions, 2)):
        return None
    return Candidate(labels, mixture.dimensions, affine, mixture.cost)


def _soft(labels: Labels, n_clusters: int) -> Array:
    certain = Partition(labels, n_clusters).indicator
    return SURE_OF_LABELS * certain + (1.0 - SURE_OF_LABELS) / n_clusters


def climb(
    rows: Array, memberships: Array, dimensions: tuple[int, ...], affine: bool, steps: int
) -> Mixture:
    """Return the mixture after at most ``steps`` steps of EM from memberships (n, K)."""
    n, p = rows.shape
    before, least = -np.inf, _least_noise(rows)
    for _ in range(steps):
        sizes, eigenvalues, energies = _spectra(rows, memberships, affine)
        variances = _variances(sizes, eigenvalues, dimensions, least)
        distance = np.matmul(energies, 1.0 / variances[:, :, None])[:, :, 0]
        log_scale = p * LOG_TWO_PI + np.log(variances).sum(axis=1)
        log_joint = np.log(sizes / n) - 0.5 * (log_scale + distance.T)
        largest = log_joint.max(axis=1, keepdims=True)
        joint = np.exp(log_joint - largest)
        total = joint.sum(axis=1, keepdims=True)
        memberships = joint / total
        log_likelihood = float(np.sum(largest + np.log(total)))
        if log_likelihood - before < 1e-3:
            break
        before = log_likelihood
    free = n_parameters(dimensions, p, affine=affine, shared=True)
    entropy = -float(xlogy(memberships, memberships).sum()) if affine else 0.0
    cost = -log_likelihood + 0.5 * PENALTY * free * np.log(n) + entropy
    return Mixture(memberships, dimensions, cost)


def own_dimensions(rows: Array, mixture: Mixture, affine: bool, largest: int) -> tuple[int, ...]:
    """Return the dimension of each cluster that its members pay for, at given memberships.

    With noise s2, an axis of variance l > s2 in place of noise makes the members of a cluster
    likelier by ``n_k/2 (l/s2 - 1 - log(l/s2))``. Noise and dimensions are found in turn.
    """
    n, p = rows.shape
    sizes, eigenvalues, _ = _spectra(rows, mixture.memberships, affine)
    most = np.clip(np.minimum(largest, sizes.astype(int) - 2), not affine, p - 1)
    number = np.arange(p)
    price = 0.5 * PENALTY * np.log(n) * (p - number)
    dimensions, least = np.array(mixture.dimensions), _least_noise(rows)
    for _ in range(MOST_TURNS):
        noise = _noise(sizes, eigenvalues, dimensions, least)
        ratio = np.maximum(eigenvalues / noise, 1.0)
        gain = 0.5 * sizes[:, None] * (ratio - 1.0 - np.log(ratio)) - price
        total = np.cumsum(np.column_stack([np.zeros(len(sizes)), gain[:, :-1]]), axis=1)
        total[number > most[:, None]] = -np.inf
        before, dimensions = dimensions, np.maximum(np.argmax(total, axis=1), not affine)
        if np.array_equal(before, dimensions):
            break
    return tuple(int(r) for r in dimensions)


def _spectra(rows: Array, memberships: Array, affine: bool) -> tuple[Array, Array, Array]:
    """Return sizes (K,), eigenvalues (K, p), and squared scores along all axes (K, n, p)."""
    sizes = memberships.sum(axis=0) + NOTHING
    shares = memberships.T / sizes[:, None]
    centres = shares @ rows if affine else np.zeros((len(sizes), rows.shape[1]))
    centred = rows - centres[:, None]
    covariances = np.matmul((centred * shares[:, :, None]).transpose(0, 2, 1), centred)
    eigenvalues, axes = np.linalg.eigh(covariances)
    scores = np.matmul(centred, axes[:, :, ::-1])
    return sizes, eigenvalues[:, ::-1], scores**2


def _variances(
    sizes: Array, eigenvalues: Array, dimensions: Sequence[int] | Array, least: float
) -> Array:
    """Return the variances along all axes (K, p): of the first R_k their own, then the noise."""
    noise = _noise(sizes, eigenvalues, dimensions, least)
    return np.where(_is_axis(eigenvalues, dimensions), np.maximum(eigenvalues, noise), noise)


def _noise(
    sizes: Array, eigenvalues: Array, dimensions: Sequence[int] | Array, least: float
) -> float:
    """Return the noise: the mean variance off the axes, at least ``least``."""
    left = np.where(_is_axis(eigenvalues, dimensions), 0.0, eigenvalues).sum(axis=1)
    freedom = float(sizes @ (eigenvalues.shape[1] - np.asarray(dimensions)))
    return max(float(sizes @ left) / max(freedom, 1.0), least)


def _is_axis(eigenvalues: Array, dimensions: Numbers) -> Mask:
    return np.arange(eigenvalues.shape[1]) < np.asarray(dimensions)[:, None]


def _least_noise(rows: Array) -> float:
    return LEAST_NOISE * float(rows.var(axis=0).mean())
