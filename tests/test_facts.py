"""The facts of a model: what others read of it, and a copy that knows more."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

import subspaces
from subspaces import PSC, SparseKMeans
from subspaces.datasets import make_subspaces
from subspaces.facts import Samples, facts_of, samples_of, with_facts
from subspaces.preparation import Preparation

UNION = make_subspaces([20, 30], 6, [1, 2], noise=0.05, random_state=0)
ROOMS = ("app", "plots", "diagnostics")


@pytest.fixture(scope="module")
def model():
    frame = pd.DataFrame(UNION.data, columns=list("abcdef"))
    return PSC(2, n_components=[1, 2], random_state=0).fit(frame)


def test_facts_are_those_of_the_clusters(model):
    facts = facts_of(model)
    assert (facts.n_clusters, facts.n_variables, facts.names) == (2, 6, list("abcdef"))
    assert facts.sizes.tolist() == np.bincount(model.labels_).tolist()
    means = [UNION.data[model.labels_ == k].mean(axis=0) for k in (0, 1)]
    assert_allclose(facts.contrasts[0].difference, means[0] - means[1])
    assert facts_of(PSC(1, random_state=0).fit(UNION.data)).contrasts is None


def test_samples_are_what_the_model_answers(model):
    samples = samples_of(model, pd.DataFrame(UNION.data, columns=list("abcdef")))
    assert_array_equal(samples.rows, UNION.data)
    assert_array_equal(samples.placed, UNION.data)
    assert_allclose(samples.scores, model.record_.scores)
    assert_allclose(samples.coordinates, model.record_.coordinates)


def test_missing_values_are_placed_and_completed(model):
    holed = UNION.data.copy()
    holed[3, 2] = np.nan
    samples = Samples(model, holed)
    filled = model.impute(pd.DataFrame(holed, columns=list("abcdef")))
    assert_allclose(samples.completed, filled)
    assert np.isfinite(samples.placed).all()
    # In its own subspace: nothing is left of the row outside.
    k = model.predict(pd.DataFrame(samples.placed, columns=list("abcdef")))[3]
    subspace = model.subspaces_[k]
    rest = samples.placed[3] - subspace.centre
    assert_allclose(subspace.basis @ (subspace.basis.T @ rest), rest, atol=1e-10)


def test_of_other_clusterers_only_the_rows_are_known():
    assert_array_equal(samples_of(KMeans(2), UNION.data).rows, UNION.data)


def test_a_method_without_subspaces_has_no_coordinates():
    found = SparseKMeans(2, random_state=0).fit(UNION.data)
    assert samples_of(found, UNION.data).coordinates is None
    assert facts_of(found).n_clusters == 2


def test_a_copy_knows_more_and_the_model_stays_as_it_is(model):
    before = dict(vars(model))
    preparation = Preparation(tuple("abcdef"), centre=UNION.data.mean(axis=0))
    more = with_facts(
        model,
        preparation=preparation,
        sample_names=np.arange(50),
        selection={"verdict": "2"},
        messages=["One."],
        verdicts=["Solid."],
    )
    assert vars(model) == before
    assert more.preparation_ is preparation
    assert (more.selection_, more.record_.messages) == ({"verdict": "2"}, ("One.",))
    assert more.record_.verdicts == ("Solid.",)
    assert_array_equal(more.record_.sample_names, np.arange(50))
    raw = pd.DataFrame(UNION.data, columns=list("abcdef"))
    assert_allclose(samples_of(more, raw).rows, UNION.data - UNION.data.mean(axis=0))


def test_names_are_handed_on_to_a_model_of_arrays():
    bare = PSC(2, random_state=0).fit(UNION.data)
    assert facts_of(bare).names == [f"x{j}" for j in range(6)]
    assert facts_of(with_facts(bare, variable_names=np.array(list("uvwxyz")))).names[0] == "u"


def test_means_are_measured_before_samples_are_projected():
    axes = np.eye(2, 6)
    preparation = Preparation(tuple("abcdef"), axes=axes, centre=np.zeros(6))
    found = PSC(2, n_components=0, affine=True, random_state=0).fit(UNION.data @ axes.T @ axes)
    raw = pd.DataFrame(UNION.data, columns=list("abcdef"))
    more = with_facts(found, preparation=preparation, X=raw)
    means = [UNION.data[found.labels_ == k].mean(axis=0) for k in (0, 1)]
    assert_allclose(more.cluster_means_, means)
    whole = with_facts(found, preparation=replace(preparation, axes=None), X=raw)
    assert_allclose(whole.cluster_means_, found.cluster_means_)


def test_nobody_else_looks_into_a_model_or_writes_into_it():
    home = Path(subspaces.__file__).parent
    paths = [path for room in ROOMS for path in (home / room).rglob("*.py")]
    assert len(paths) > 40
    assert [found for path in paths for found in _reached(path)] == []


def _reached(path):
    """Yield private attributes of values that are read, and fitted ones that are written."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    own = {"self", "cls"} | {(a.asname or a.name) for node in imports for a in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr.startswith("__"):
            continue
        if isinstance(node.value, ast.Name) and node.value.id in own:
            continue
        written = isinstance(node.ctx, ast.Store) and node.attr.endswith("_")
        if written or node.attr.startswith("_"):
            yield f"{path.name}:{node.lineno} {ast.unparse(node)}"
