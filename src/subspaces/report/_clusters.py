"""Each cluster: its size, its own subspace, its strongest variables."""

from subspaces.report import _figures, _tables
from subspaces.report._canvas import colour
from subspaces.report._draft import Draft, thinning
from subspaces.report._findings import Cluster
from subspaces.report._names import count


def clusters(draft: Draft) -> str:
    """How large each cluster is, and each in its own subspace."""
    found = draft.found
    table = _tables.cluster_sizes(found)
    if found.common is not None:
        method = type(found.model).__name__
        chart = _figures.strongest_variables(found, found.common, colour(0))
        return (
            f"{table}<p>{method} separates its clusters by their centres: they are no subspaces "
            "with axes to draw. All of them share the variables below.</p>"
            f"{draft.figure('weights', chart, 'Weights of the strongest variables')}"
        )
    cards = "".join(_card(draft, cluster) for cluster in found.clusters)
    if found.points:
        words = "A cluster is a point here, its centre: the variables that set it apart."
    else:
        words = (
            "Each cluster along the axes of its own subspace, with its strongest variables. In "
            "brackets: the share of an axis in what the subspace catches. Point at a mark to see "
            f"the sample.{thinning(found)}"
        )
    return f'{table}<p>{words}</p><div class="cards">{cards}</div>'


def _card(draft: Draft, cluster: Cluster) -> str:
    k, dimension = cluster.number, cluster.dimension or 0
    toggle = (
        f'<button type="button" data-space="space-{k}" aria-controls="own-{k}" '
        'aria-pressed="false" hidden>In 3-D</button>'
        if dimension >= 3 and len(cluster.members) and cluster.coordinates is not None
        else ""
    )
    return (
        f'<article class="card" aria-labelledby="cluster-{k}"><header><h3 id="cluster-{k}">'
        f'{_tables.swatch(k)}Cluster {k}</h3><span class="quiet small">'
        f"{count(len(cluster.members), 'sample')}, {count(dimension, 'dimension')}</span>{toggle}"
        f"</header>{_pair(draft, cluster)}</article>"
    )


def _pair(draft: Draft, cluster: Cluster) -> str:
    """The members in their subspace beside their variables; of points the variables alone."""
    if draft.found.points and len(cluster.members):
        return _strongest(draft, cluster)
    return f'<div class="pair">{_own(draft, cluster)}{_strongest(draft, cluster)}</div>'


def _own(draft: Draft, cluster: Cluster) -> str:
    k, found = cluster.number, draft.found
    if not len(cluster.members):
        return "<p>No sample is in this cluster.</p>"
    if cluster.coordinates is None:
        return "<p>So many samples are not kept with the model: give X to draw them.</p>"
    if not cluster.dimension:
        return "<p>A point, its centre: there is no axis to draw.</p>"
    if cluster.dimension >= 3:
        draft.figures[f"space-{k}"] = _figures.own_subspace(found, cluster, three=True)
    label = f"Members of cluster {k} along the axes of its subspace"
    return draft.figure(f"own-{k}", _figures.own_subspace(found, cluster), label)


def _strongest(draft: Draft, cluster: Cluster) -> str:
    if cluster.loadings is None or not len(cluster.loadings.places):
        return "<p>No variable has a loading.</p>"
    k, kept = cluster.number, len(cluster.loadings.places)
    chart = _figures.strongest_variables(draft.found, cluster.loadings, colour(k))
    first = min(kept, _figures.STRONGEST)
    caption = f"The {first} strongest of {kept:,} variables." if first < kept else ""
    return draft.figure(f"loadings-{k}", chart, f"Strongest variables of cluster {k}", caption)


def variables(draft: Draft) -> str:
    """The variables of each cluster."""
    if not any(len(loadings.places) for _, loadings in _tables.variable_groups(draft.found)):
        return "<p>No variable has a loading.</p>"
    return _tables.variables(draft.found)
