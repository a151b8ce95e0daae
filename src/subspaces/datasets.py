"""Simulated unions of subspaces with their truth, penguins, and expression files."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from sklearn.utils import Bunch, check_random_state

from subspaces._types import Array, Mask, SamplesIn, ScenarioName, ScoreDistribution, Seed
from subspaces.messages import DataWarning, ParameterError, literal
from subspaces.named_table import Table
from subspaces.runtime.parameters import as_choice, as_count, as_real
from subspaces.subspace import Subspace, orthonormal

__all__ = ["load_penguins", "make_proteomics", "make_scenario", "make_subspaces", "read_expression"]


# Dimensions of the clusters and of the ambient space [MM2014, section "Simulation experiments"].
SCENARIOS: dict[ScenarioName, tuple[tuple[int, ...], int]] = {
    "a": ((1, 1), 3),
    "b": ((1, 2), 3),
    "c": ((2, 2), 3),
    "d": ((1, 2, 3), 3),
    "e": ((5, 4, 1, 1), 200),
}
# Samples per cluster. For sparse scenarios: variables, variables per loading, and noise (sd).
SCENARIO_SAMPLES = 100
SPARSE_FEATURES, SPARSE_VARIABLES, SPARSE_NOISE = 200, 10, 0.5
# The scale of the logistic curve by which low intensities are missed, in log2.
DETECTION = 0.5


def make_subspaces(
    n_samples: int | Sequence[int],
    n_features: int,
    n_components: Sequence[int],
    *,
    noise: float = 0.0,
    offset: float = 0.0,
    scores: ScoreDistribution = "uniform",
    n_variables: int | None = None,
    nonnegative: bool = False,
    shuffle: bool = False,
    random_state: Seed = None,
) -> Bunch:
    """Simulate samples near several random subspaces.

    Parameters
    ----------
    n_samples : int or one int per cluster
        Total number, divided as evenly as possible, or the size of each cluster.
    n_features : int
        Number of variables, P.
    n_components : sequence of int
        Dimension of each subspace. The length is the number of clusters.
    noise : float, default 0
        Standard deviation of the Gaussian noise on every variable.
    offset : float, default 0
        Standard deviation of each coordinate of the centres. At 0, all subspaces pass through the
        origin.
    scores : {"uniform", "normal", "ball"}, default "uniform"
        Distribution within a subspace: each coordinate U(-1, 1), each N(0, 1), or uniform in the
        unit ball.
    n_variables : int, optional
        Number of variables with a non-zero loading, chosen for each axis. The loadings are then
        N(0, 1) and not normalised. By default the basis is orthonormal on all variables.
    nonnegative : bool, default False
        Whether to take the absolute values of sparse loadings.
    shuffle : bool, default False
        Whether to shuffle the samples. Otherwise they come cluster by cluster.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Bunch
        - ``data`` (n, P) and ``target`` (n,): the samples and their clusters.
        - ``n_components`` (K,): dimension of each subspace.
        - ``subspaces``: the K true subspaces.
        - ``loadings``: K arrays (P, r), the bases before scaling. A sample is centre + scores @
          loadings.T + noise.

    Examples
    --------
    >>> from subspaces.datasets import make_subspaces
    >>> union = make_subspaces([30, 70], 10, [1, 3], noise=0.1, random_state=0)
    >>> union.data.shape, [subspace.basis.shape for subspace in union.subspaces]
    ((100, 10), [(10, 1), (10, 3)])
    """
    n_features = as_count(n_features, "n_features", low=1)
    why = " for {p:#variable}"
    dimensions = [
        as_count(r, f"n_components[{k}]", low=0, high=n_features, why=why, p=n_features)
        for k, r in enumerate(_as_sequence(n_components, "n_components"))
    ]
    sizes = _cluster_sizes(n_samples, len(dimensions))
    noise, offset = as_real(noise, "noise"), as_real(offset, "offset")
    scores = as_choice(scores, "scores", get_args(ScoreDistribution))
    if n_variables is not None:
        n_variables = as_count(n_variables, "n_variables", low=1, high=n_features)
    random = check_random_state(random_state)
    blocks, subspaces, all_loadings = [], [], []
    for size, dimension in zip(sizes, dimensions, strict=True):
        centre = offset * random.standard_normal(n_features)
        loadings = _draw_loadings(random, n_features, dimension, n_variables)
        loadings = np.abs(loadings) if nonnegative and n_variables is not None else loadings
        positions = _draw_scores(random, size, dimension, scores)
        all_loadings.append(loadings)
        blocks.append(centre + positions @ loadings.T)
        subspaces.append(_true_subspace(centre, loadings, positions))
    data = np.vstack(blocks) + noise * random.standard_normal((sum(sizes), n_features))
    target = np.repeat(np.arange(len(sizes)), sizes)
    order = random.permutation(len(data)) if shuffle else np.arange(len(data))
    return Bunch(
        data=data[order],
        target=target[order],
        n_components=np.array(dimensions),
        subspaces=subspaces,
        loadings=all_loadings,
    )


def make_scenario(
    name: ScenarioName,
    *,
    sparse: bool = False,
    noise: float | None = None,
    n_features: int | None = None,
    scores: ScoreDistribution | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Simulate one of the five scenarios of the paper, with 100 samples in each cluster.

    Parameters
    ----------
    name : {"a", "b", "c", "d", "e"}
        Which scenario. All subspaces pass through the origin.

        - "a": two lines.
        - "b": a line and a plane.
        - "c": two planes.
        - "d": a line, a plane and a 3-dimensional space.
        - "e": a 5- and a 4-dimensional space, and two lines.
    sparse : bool, default False
        Whether each axis has 10 non-zero loadings, on 200 variables.
    noise : float, optional
        Standard deviation of the noise. By default 0, or 0.5 if ``sparse=True``.
    n_features : int, optional
        Number of variables. By default 3 (200 for "e"), or 200 if ``sparse=True``.
    scores : {"uniform", "normal", "ball"}, optional
        Distribution within a subspace. By default "uniform" on (-1, 1), or "normal" if
        ``sparse=True``.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Bunch
        The same as from `make_subspaces`.

    Notes
    -----
    The paper does not give the range of the uniform scores or the scale of the sparse loadings. It
    says that the noise of the sparse scenarios has "variance 0.5". If the scores have unit scale,
    its own results would then beat a classifier that knows the true parameters. So 0.5 is used as
    the standard deviation ("The paper's mistakes and our reading",
    https://subspaces.readthedocs.io).

    Examples
    --------
    >>> from subspaces.datasets import make_scenario
    >>> scenario = make_scenario("d", random_state=0)
    >>> scenario.data.shape, scenario.n_components.tolist()
    ((300, 3), [1, 2, 3])
    """
    dimensions, ambient = SCENARIOS[as_choice(name, "name", tuple(SCENARIOS))]
    return make_subspaces(
        [SCENARIO_SAMPLES] * len(dimensions),
        n_features if n_features is not None else (SPARSE_FEATURES if sparse else ambient),
        dimensions,
        noise=noise if noise is not None else (SPARSE_NOISE if sparse else 0.0),
        scores=scores if scores is not None else ("normal" if sparse else "uniform"),
        n_variables=SPARSE_VARIABLES if sparse else None,
        random_state=random_state,
    )


def make_proteomics(
    n_samples: int | Sequence[int] = 90,
    n_proteins: int = 300,
    *,
    n_groups: int = 3,
    n_markers: int = 20,
    shift: float = 1.5,
    noise: float = 0.5,
    missing: float = 0.2,
    low: float = 0.5,
    random_state: Seed = None,
) -> Bunch:
    """Simulate log2 intensities of proteins in groups of samples, with missing values.

    Proteins differ in abundance (mean 24, standard deviation 2.5). Each group has its own proteins
    that are shifted up or down. Two factors independent of the groups move many proteins together:
    a state of the sample, and a quality of the measurement.

    Parameters
    ----------
    n_samples : int or one int per group, default 90
        Total number, divided as evenly as possible, or the size of each group.
    n_proteins : int, default 300
        Number of proteins.
    n_groups : int, default 3
        Number of groups.
    n_markers : int, default 20
        Number of proteins that set each group apart.
    shift : float, default 1.5
        Shift of these proteins, in log2.
    noise : float, default 0.5
        Standard deviation of the noise.
    missing : float, default 0.2
        Share of all values that are missing.
    low : float, default 0.5
        Share of the missing values that are missing because they are low. Their probability rises
        from 0 to 1 over about two units around a limit of detection. The others are missing at
        random.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Bunch
        - ``data`` (n, proteins): intensities, with NaN for missing values.
        - ``whole``: the same with all values.
        - ``is_low``: which values are missing because they are low.
        - ``target`` (n,): group of each sample.
        - ``markers``: columns that set each group apart, one array per group.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.datasets import make_proteomics
    >>> made = make_proteomics(random_state=0)
    >>> made.data.shape, round(float(np.isnan(made.data).mean()), 2)
    ((90, 300), 0.2)
    """
    n_groups = as_count(n_groups, "n_groups", low=1)
    n_proteins = as_count(n_proteins, "n_proteins", low=2)
    why = f" for {n_groups} groups of {n_proteins} proteins"
    n_markers = as_count(n_markers, "n_markers", low=0, high=n_proteins // n_groups, why=why)
    sizes = _cluster_sizes(n_samples, n_groups)
    shift, noise = as_real(shift, "shift"), as_real(noise, "noise")
    missing = as_real(missing, "missing", low=0.0, high=0.9)
    low = as_real(low, "low", low=0.0, high=1.0)
    random = check_random_state(random_state)
    target = np.repeat(np.arange(n_groups), sizes)
    abundance = 24.0 + 2.5 * random.standard_normal(n_proteins)
    factors = random.standard_normal((len(target), 2)) @ (
        0.4 * random.standard_normal((2, n_proteins))
    )
    markers = random.permutation(n_proteins)[: n_groups * n_markers].reshape(n_groups, n_markers)
    profiles = np.zeros((n_groups, n_proteins))
    for k in range(n_groups):
        profiles[k, markers[k]] = shift * random.choice([-1.0, 1.0], n_markers)
    whole = abundance + profiles[target] + factors + noise * random.standard_normal(factors.shape)
    is_low = _below_detection(random, whole, low * missing)
    at_random = random.uniform(size=whole.shape) < (1.0 - low) * missing / (1.0 - low * missing)
    return Bunch(
        data=np.where(is_low | at_random, np.nan, whole),
        whole=whole,
        is_low=is_low,
        target=target,
        markers=list(markers),
    )


def _below_detection(random: np.random.RandomState, values: Array, share: float) -> Mask:
    """Return which values a detector misses, that share of them: the lower, the likelier."""
    if share == 0.0:
        return np.zeros(values.shape, dtype=bool)
    seen_from = values + random.logistic(scale=DETECTION, size=values.shape)
    return seen_from < np.quantile(seen_from, share)


def load_penguins() -> Bunch:
    """Load measurements of 344 penguins of three species from the Palmer Archipelago.

    The variables are the length and depth of the bill and the length of a flipper, in mm, and the
    body mass, in g. Two birds were not measured, so all their values are missing.

    Returns
    -------
    Bunch
        - ``data`` (344, 4): measurements, with NaN for missing values.
        - ``target`` (344,) and ``target_names``: species of each penguin, as 0, 1, 2, and their
          names.
        - ``island`` and ``sex`` (344,): "" if the sex is unknown.
        - ``sample_names`` (344,) and ``variable_names`` (4,).
        - ``frame``: the data as a pandas DataFrame, or None if pandas is missing.

    Notes
    -----
    The data are in the public domain (CC0 1.0), as the package palmerpenguins by Horst, Hill and
    Gorman publishes them: https://allisonhorst.github.io/palmerpenguins.

    References
    ----------
    K. B. Gorman, T. D. Williams and W. R. Fraser, "Ecological sexual dimorphism and environmental
    variability within a community of Antarctic penguins (genus Pygoscelis)", PLoS ONE 9 (2014)
    e90081.

    Examples
    --------
    >>> from subspaces.datasets import load_penguins
    >>> penguins = load_penguins()
    >>> penguins.data.shape, penguins.target_names.tolist()
    ((344, 4), ['Adelie', 'Chinstrap', 'Gentoo'])
    """
    header, *birds = np.loadtxt(Path(__file__).with_name("penguins.csv"), str, delimiter=",")
    species, island, *measured, sex = np.transpose(birds)
    table = Table(
        np.column_stack([np.where(each == "", "nan", each) for each in measured]).astype(float),
        tuple(f"bird{place}" for place in range(1, len(birds) + 1)),
        tuple(header[2:-1].tolist()),
        tuple(species.tolist()),
    )
    return Bunch(island=island, sex=sex, **_as_bunch(table))


def read_expression(
    path: str | Path,
    classes: str | Path | None = None,
    *,
    samples: SamplesIn = "rows",
    labels: str | None = None,
    ignore: str | Iterable[str] = (),
    missing: str | Iterable[str] = (),
    sample_names: str | None = None,
    ignore_text: bool = False,
    drop_empty: bool = False,
) -> Bunch:
    r"""Read a table of gene expression, or any other table, from a file.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .txt, .gct, .xlsx, .npz, .parquet or .h5ad file. Text files can be gzipped
        (.gz).
    classes : str or Path, optional
        A .cls file with the known class of each sample.
    samples : {"rows", "columns"}, default "rows"
        Where the samples are. It has no effect on .gct and .h5ad files.
    labels : str, optional
        Column of the file with the known classes. It is not a variable.
    ignore : str or iterable of str, optional
        Columns and rows to leave out, such as annotation or a row of totals.
    missing : str or iterable of str, optional
        Further marks of missing values, such as -999. Always missing: an empty cell, NA, NaN, ?, -
        and a dot.
    sample_names : str, optional
        Column of the file with the names of the samples. It is not a variable.
    ignore_text, drop_empty : bool, default False
        Whether to leave out columns of text, and samples without any value.

    Returns
    -------
    Bunch
        - ``data`` (n, p): samples in rows, with NaN for missing values.
        - ``target`` (n,): class of each sample as a number, -1 if unknown. None if there are no
          classes.
        - ``target_names``: the classes, sorted, or None.
        - ``sample_names`` (n,) and ``variable_names`` (p,).
        - ``frame``: the data as a pandas DataFrame with these names, or None if pandas is missing.
          Fit the estimators to it to keep the names.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from subspaces.datasets import read_expression
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "data.csv"
    ...     _ = path.write_text("sample;TP53;BRCA1;type\nA;1.5;2;ALL\nB;0;3;AML")
    ...     read = read_expression(path, labels="type")
    >>> read.data.shape, read.sample_names.tolist(), read.target_names.tolist()
    ((2, 2), ['A', 'B'], ['ALL', 'AML'])
    """
    from subspaces.app.tables import doubts, read_table

    table = read_table(
        path,
        samples=samples,
        labels=labels,
        ignore=ignore,
        missing=missing,
        sample_names=sample_names,
        ignore_text=ignore_text,
        drop_empty=drop_empty,
    )
    if classes is not None:
        table = with_classes(table, Path(classes))
    unsure = (doubt.message for doubt in doubts(table, samples))
    for each in (*table.notes, *unsure):
        fact = literal(f"{path}: ") + each.fact
        named = DataWarning(each.code, fact, *each.advice, **each.parameters)
        warnings.warn(named, stacklevel=2)
    return _as_bunch(table)


def with_classes(table: Table, path: Path) -> Table:
    """Return the table with its classes replaced by those of a CLS file."""
    from subspaces.app.tables import read_cls

    classes = read_cls(path)
    if len(classes) != len(table.data):
        raise ValueError(
            f"{path} has {len(classes)} samples, but the table has {len(table.data)}. Choose the "
            "CLS file that belongs to this table."
        )
    return replace(table, classes=classes)


def _as_bunch(table: Table) -> Bunch:
    names = target = None
    if table.classes is not None:
        names = np.array(sorted(set(table.classes) - {""}))
        places = {name: place for place, name in enumerate(names.tolist())}
        target = np.array([places.get(name, -1) for name in table.classes])
    return Bunch(
        data=table.data,
        target=target,
        target_names=names,
        sample_names=np.array(table.sample_names, dtype=object),
        variable_names=np.array(table.variable_names, dtype=object),
        frame=table.frame,
    )


def _as_sequence(value: Any, name: str) -> list[Any]:
    if np.ndim(value) != 1 or len(value) == 0:
        raise ParameterError(
            name,
            f"<{name}={{value!r}}> is not a list of numbers. Pass one per cluster.",
            value=value,
        )
    return list(value)


def _cluster_sizes(n_samples: int | Sequence[int], n_clusters: int) -> list[int]:
    if np.ndim(n_samples) == 0:
        why = " for {n:#cluster}"
        total = as_count(n_samples, "n_samples", low=n_clusters, why=why, n=n_clusters)
        return [len(part) for part in np.array_split(np.arange(total), n_clusters)]
    sizes = [
        as_count(size, f"n_samples[{k}]", low=1)
        for k, size in enumerate(_as_sequence(n_samples, "n_samples"))
    ]
    if len(sizes) != n_clusters:
        raise ParameterError(
            "n_samples",
            f"<n_samples> has {{n:#entry|entries}}, but <n_components> has {n_clusters}. Pass "
            "one size per cluster, or a total.",
            n=len(sizes),
        )
    return sizes


def _draw_loadings(
    random: np.random.RandomState, n_features: int, dimension: int, n_variables: int | None
) -> Array:
    """Return loadings (P, r): a random orthonormal basis, or N(0, 1) on a few variables each."""
    if n_variables is None:
        return orthonormal(random.standard_normal((n_features, dimension)))
    loadings = np.zeros((n_features, dimension))
    for column in loadings.T:
        column[random.permutation(n_features)[:n_variables]] = random.standard_normal(n_variables)
    return loadings


def _draw_scores(
    random: np.random.RandomState, size: int, dimension: int, kind: ScoreDistribution
) -> Array:
    if kind == "uniform":
        return random.uniform(-1.0, 1.0, (size, dimension))
    positions = random.standard_normal((size, dimension))
    if kind == "ball" and dimension:
        radius = random.uniform(size=(size, 1)) ** (1.0 / dimension)
        positions *= radius / np.linalg.norm(positions, axis=1, keepdims=True)
    return positions


def _true_subspace(centre: Array, loadings: Array, positions: Array) -> Subspace:
    """Return the subspace that the loadings span, with unit columns as its basis.

    The spectrum is the energy of the members without noise along each column.
    """
    lengths = np.linalg.norm(loadings, axis=0)
    basis = loadings / lengths
    return Subspace(centre, basis, np.sum((positions @ loadings.T @ basis) ** 2, axis=0))
