import inspect
import io
import json
import os
import pickle
import zipfile
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from subspaces import MCFA, PCA, PSC, KSubspaces, MiniBatchPSC, SparseKMeans, load
from subspaces.datasets import make_subspaces
from subspaces.runtime import model_file
from subspaces.runtime.serialise import deserialise, serialise
from subspaces.subspace import Subspace
from tests.estimators.checks import CLUSTERERS
from tests.warned import warns

QUICK = {"n_init": 3, "n_runs": 10}
METHODS = (
    "predict", "transform", "project", "reconstruct", "predict_proba", "score_samples",
    "factor_scores",
)  # fmt: skip


@pytest.fixture(scope="module")
def lines():
    return make_subspaces([20, 25], 6, [1, 1], noise=0.1, offset=0.5, random_state=0).data


@pytest.fixture(scope="module")
def written(lines, tmp_path_factory):
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("models") / "m.npz"
    PSC(2, n_init=2, random_state=0).fit(lines).save(path)
    return path.read_bytes()


def quick(estimator, **parameters):
    known = inspect.signature(estimator).parameters
    given = {name: value for name, value in QUICK.items() if name in known}
    return estimator(2, random_state=0, **{**given, **parameters})


def assert_same(found, expected):
    """Equal through and through: kinds, types, values."""
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif sparse.issparse(expected):
        assert_same(found.toarray(), expected.toarray())
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    elif hasattr(expected, "__dataclass_fields__"):
        for part in fields(expected):
            assert_same(getattr(found, part.name), getattr(expected, part.name))
    else:
        assert found == expected or (np.isnan(found) and np.isnan(expected))


def assert_round_trip(model, X, path):
    model.save(path)
    loaded = load(path)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    kept = {k: v for k, v in vars(model).items() if k != "_sklearn_output_config"}
    assert_same({k: vars(loaded)[k] for k in kept}, kept)
    assert set(vars(loaded)) == set(kept)
    for name in METHODS:
        if hasattr(model, name):
            assert_same(getattr(loaded, name)(X), getattr(model, name)(X))
    return loaded


@pytest.mark.parametrize("estimator", CLUSTERERS.values(), ids=CLUSTERERS)
def test_a_loaded_model_is_the_saved_one(estimator, lines, tmp_path):
    assert_round_trip(quick(estimator).fit(lines), lines[::2], tmp_path / "m.npz")


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
@pytest.mark.parametrize(
    "parameters",
    [
        {"n_variables": 3},
        {"n_variables": [2, 3], "affine": True},
        {"n_components": "auto", "max_components": 2},
        {"n_clusters": "auto", "max_clusters": 3},
        {"n_components": [1, 2], "affine": True},
        {"n_components": np.array([1, 2])},
        {"criterion": "influence"},
        {"init": np.arange(45) % 2},
        {"n_init": 2, "refine": "descent"},
        {"outliers": 0.1},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::subspaces.messages.TrustWarning")
def test_every_kind_of_psc(parameters, lines, tmp_path):
    model = quick(PSC).set_params(**parameters).fit(lines)
    loaded = assert_round_trip(model, lines, tmp_path / "m.npz")
    for k in range(len(model.subspaces_)):
        np.testing.assert_array_equal(loaded.get_variables(k), model.get_variables(k))


@pytest.mark.filterwarnings("ignore::subspaces.messages.ChoiceWarning")
def test_names_are_kept(lines, tmp_path):
    genes = ["TP53", "MYC", "gène", "a,b", "e\x00", ""]
    frame = pd.DataFrame(lines, columns=genes, index=[f"patient {i}" for i in range(45)])
    model = quick(PSC, n_variables=2).fit(frame.astype(np.float32))
    loaded = assert_round_trip(model, frame, tmp_path / "m.npz")
    assert set(loaded.get_variables(0)) <= set(genes)
    assert loaded.record_.sample_names[7] == "patient 7"
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[genes[::-1]])


def test_the_gap_table_of_sparse_k_means(lines, tmp_path):
    loaded = assert_round_trip(SparseKMeans(2, random_state=0).fit(lines), lines, tmp_path / "m")
    assert set(loaded.selection_) == {"bounds", "objectives", "gaps", "standard_errors", "counts"}


def test_a_loaded_model_can_be_fitted_and_saved_again(lines, tmp_path):
    path = tmp_path / "m.npz"
    quick(PSC).fit(lines).save(path)
    again = load(path).fit(lines[:30])
    assert_round_trip(again, lines, path)


def test_arrays_in_either_order(tmp_path):
    rows = np.arange(6.0).reshape(2, 3)
    state = {
        "C": rows,
        "F": np.asfortranarray(rows),
        "every other": rows[:, ::2],
        "swapped": rows.T,
    }
    model_file.write(tmp_path / "m.npz", model_file.SavedModel("PSC", {}, state))
    assert_same(model_file.read(tmp_path / "m.npz").state, state)


def test_exactly_the_path_given(lines, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick(KSubspaces).fit(lines).save("model")
    assert os.listdir() == ["model"]
    assert load("model").n_iter_ >= 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("init", lambda X, n_clusters, random_state: np.arange(len(X)) % 2),
        ("random_state", np.random.RandomState(0)),
    ],
)
def test_what_cannot_be_written_is_stored_as_its_default(name, value, lines, tmp_path):
    model = quick(KSubspaces).set_params(**{name: value}).fit(lines)
    with warns("not_saved") as shown:
        model.save(tmp_path / "m.npz")
    assert shown[0].filename == __file__
    default = KSubspaces().get_params()[name]
    assert load(tmp_path / "m.npz").get_params()[name] == default
    assert model.get_params()[name] is value


def test_what_is_not_fitted_or_not_ours_is_not_saved(lines, tmp_path):
    class Mine(KSubspaces):
        pass

    with pytest.raises(ValueError, match="not fitted"):
        KSubspaces().save(tmp_path / "m.npz")
    with pytest.raises(TypeError, match="Mine is not part of this library"):
        quick(Mine).fit(lines).save(tmp_path / "m.npz")
    model = quick(KSubspaces).fit(lines)
    model.note_ = 1
    with pytest.raises(TypeError, match="note_ is not"):
        model.save(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


def test_an_earlier_file_survives_a_failed_write(lines, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    model = quick(KSubspaces).fit(lines)
    model.save(path)
    before = path.read_bytes()

    def full_disk(*ignored):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full_disk)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.npz")


def test_a_folder_stands_for_the_model_in_it(lines, tmp_path):
    model = quick(KSubspaces).fit(lines)
    model.save(tmp_path / "model.npz")
    assert load(tmp_path).labels_.tolist() == model.labels_.tolist()
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"model\.npz"):
        load(tmp_path / "empty")


def test_a_file_of_something_else_is_told_with_what_to_use(lines, tmp_path):
    use = "the model.npz that subspaces fit wrote, its folder, or a file from model.save"
    refused(tmp_path, b"gene,s1,s2", use)
    refused(tmp_path, npz(a=np.ones(3)), use)
    quick(KSubspaces).fit(lines).save(tmp_path / "model.npz")
    refused(tmp_path, npz(a=np.ones(3)), tmp_path / "model.npz")


def refused(tmp_path, content, use=None):
    """The file is refused in one line: as damaged, or with what to use instead."""
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged") as caught:
        load(path)
    told = "is damaged and cannot be loaded. Save the model again"
    told = f"is not a model, or is damaged. Use {use}" if use else told
    assert str(caught.value) == f"{path} {told}."


def of_a_later_version(tmp_path, content):
    (tmp_path / "later.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"later version of subspaces\. Update subspaces\.$"):
        load(tmp_path / "later.npz")


class Trap:
    """Pickled, it would make a folder on loading."""

    def __init__(self, place):
        self.place = str(place)

    def __reduce__(self):
        return os.mkdir, (self.place,)


def npz(save=np.savez, **arrays):
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def test_files_of_something_else(tmp_path):
    trap = Trap(tmp_path / "sprung")
    hidden = np.array([trap], dtype=object)
    foreign = [b"", b"gene,s1,s2\nTP53,1,2\n", np.random.default_rng(0).bytes(5000)]
    foreign += [pickle.dumps(trap), npz(a=np.ones(3)), npz(header=np.ones(3))]
    foreign += [npz(header=np.frombuffer(b"{}", np.uint8))]
    for content in foreign:
        refused(
            tmp_path,
            content,
            "the model.npz that subspaces fit wrote, its folder, or a file from model.save",
        )
    refused(tmp_path, npz(header=hidden))
    refused(tmp_path, npz(np.savez_compressed, header=np.zeros(10**6)))
    assert not (tmp_path / "sprung").exists()


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(np.load(io.BytesIO(members.pop("header.npy"))).tobytes())
    return header, members


def packed(header, members, extra=()):
    buffer = io.BytesIO()
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in [*members.items(), *extra]:
            archive.writestr(name, content)
        archive.writestr("header.npy", model_file._as_bytes(np.frombuffer(text, np.uint8)))
    return buffer.getvalue()


def test_repacking_is_harmless(written, tmp_path):
    path = tmp_path / "m.npz"
    path.write_bytes(packed(*unpacked(written)))
    assert isinstance(load(path), PSC)


def test_headers_that_nobody_wrote(written, tmp_path):
    header, members = unpacked(written)
    of_a_later_version(tmp_path, packed({**header, "version": 2, "library": "9.0"}, members))
    of_a_later_version(tmp_path, packed({**header, "estimator": "os.system"}, members))
    refused(tmp_path, packed({**header, "version": "1"}, members))
    refused(tmp_path, packed({**header, "estimator": ["PSC"]}, members))
    refused(tmp_path, packed({**header, "state": 3}, members))
    refused(tmp_path, packed({**header, "parameters": {"dict": {"hue": 1}}}, members))
    refused(tmp_path, packed(b"[" * 100_000, members))
    refused(tmp_path, packed(b"{", members))
    doubled = json.dumps(header)[:-1] + ', "state": {"dict": {}}}'
    refused(tmp_path, packed(doubled.encode(), members))


def without_unused(header, members):
    """The file without the arrays that its header does not name."""
    used = json.dumps(header)
    return packed(header, {k: v for k, v in members.items() if f'"{k[:-4]}"' in used})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fit_", "zero"),
        ("fit_", None),
        ("fit_", {"Fit": {}}),
        ("fit_", {"Record": {}}),
        ("n_features_in_", 10**15),
        ("n_features_in_", True),
        ("predict", 1),
        ("__class__", "Trap"),
        ("labels_", "zero"),
        ("record_", {"Record": {}}),
        ("record_", {"Trap": {}}),
        ("_scale", {"array": "array_99"}),
        ("_scale", "large"),
        ("selection_", [1]),
    ],
)
def test_attributes_of_the_wrong_kind(name, value, written, tmp_path):
    header, members = unpacked(written)
    header["state"]["dict"][name] = value
    refused(tmp_path, without_unused(header, members))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", "zero"),
        ("subspaces", {"tuple": []}),
        ("subspaces", {"tuple": [{"tuple": [1]}, 2]}),
        ("objective", {"float": "1"}),
        ("objective", "low"),
        ("criterion", 5),
        ("course", {"dict": {}}),
        ("data", {"Data": {"n_samples": "4", "rank": 1, "mean_variance": 1.0}}),
        ("noise_variance", "none"),
        ("press", {"tuple": []}),
        ("more", 1),
    ],
)
def test_parts_of_a_fit_of_the_wrong_kind(name, value, written, tmp_path):
    header, members = unpacked(written)
    header["state"]["dict"]["fit_"]["Fit"][name] = value
    refused(tmp_path, without_unused(header, members))


def test_a_file_older_than_the_verdicts_is_read(written, tmp_path):
    header, members = unpacked(written)
    assert header["state"]["dict"]["record_"]["Record"].pop("verdicts") == {"tuple": []}
    (tmp_path / "m.npz").write_bytes(packed(header, members))
    assert load(tmp_path / "m.npz").record_.verdicts == ()


@pytest.mark.parametrize(
    "name",
    [
        "fit_", "_scale", "record_", "n_features_in_",
    ],
)  # fmt: skip
def test_missing_attributes(name, written, tmp_path):
    header, members = unpacked(written)
    del header["state"]["dict"][name]
    refused(tmp_path, without_unused(header, members))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (KSubspaces(2, random_state=0), "fit_"),
        (MiniBatchPSC(2, random_state=0), "past_"),
        (MiniBatchPSC(2, random_state=0), "n_iter_"),
    ],
)
def test_missing_attributes_that_only_some_samples_need(model, name, lines, tmp_path):
    path = tmp_path / "model.npz"
    clone(model).fit(sparse.csr_array(lines)).save(path)
    saved = model_file.read(path)
    del saved.state[name]
    model_file.write(path, saved)
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(path)


def test_a_mixture_without_what_its_factor_scores_take(lines, tmp_path):
    path = tmp_path / "m.npz"
    quick(MCFA).fit(lines).save(path)
    header, members = unpacked(path.read_bytes())
    place = header["state"]["dict"].pop("_change")["array"]
    members.pop(f"{place}.npy")
    refused(tmp_path, packed(header, members))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("parameters", "center", "yes"),
        ("parameters", "scale", None),
        ("parameters", "rotation", "loud"),
        ("parameters", "n_components", -1),
        ("parameters", "n_components", 2.5),
        ("state", "others", {"float": "nan"}),
        ("state", "scale", None),
    ],
)
def test_a_pca_that_no_fit_leaves(part, name, value, tmp_path):
    path, random = tmp_path / "m.npz", np.random.default_rng(1)
    X = random.normal(size=(60, 12)) + 3 * random.normal(size=(60, 1))
    PCA(scale=True).fit(X).save(path)
    header, members = unpacked(path.read_bytes())
    parts = header[part]["dict"]
    parts = parts["fit_"]["PCAFit"] if part == "state" else parts
    if (part, name) == ("state", "scale"):  # zeros to divide by
        members[f"{parts[name]['array']}.npy"] = model_file._as_bytes(np.zeros(12))
    else:
        parts[name] = value
    refused(tmp_path, packed(header, members))


def swapped(written, change, name):
    """The file with the array of one part of its fit changed."""
    header, members = unpacked(written)
    place = header["state"]["dict"]["fit_"]["Fit"][name]
    while "array" not in place:
        place = place[0] if isinstance(place, list) else next(iter(place.values()))
        place = place.get("basis", place) if isinstance(place, dict) else place
    member = f"{place['array']}.npy"
    array = change(np.load(io.BytesIO(members[member])))
    return packed(header, {**members, member: model_file._as_bytes(array)})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("labels", lambda labels: labels + 1),
        ("labels", lambda labels: labels - 2),
        ("labels", lambda labels: labels[1:]),
        ("labels", lambda labels: labels.astype(float)),
        ("subspaces", lambda basis: basis[:-1]),
        ("subspaces", lambda basis: basis * np.nan),
        ("sizes", lambda sizes: sizes[1:]),
    ],
)
def test_arrays_that_do_not_fit_together(name, change, written, tmp_path):
    refused(tmp_path, swapped(written, change, name))


def test_members_that_nobody_wrote(written, tmp_path):
    header, members = unpacked(written)
    fewer = {k: v for k, v in members.items() if k != "array_1.npy"}
    refused(tmp_path, packed(header, fewer))
    more = [("evil.npy", model_file._as_bytes(np.ones(3)))]
    refused(tmp_path, packed(header, members, more))
    with pytest.warns(UserWarning, match="Duplicate name"):
        doubled = packed(header, members, [("array_1.npy", members["array_1.npy"])])
    refused(tmp_path, doubled)
    trap = io.BytesIO()
    np.save(trap, np.array([Trap(tmp_path / "sprung")], dtype=object))
    refused(tmp_path, packed(header, {**members, "array_1.npy": trap.getvalue()}))
    assert not (tmp_path / "sprung").exists()
    huge = io.BytesIO()
    declared = {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
    np.lib.format.write_array_header_1_0(huge, declared)
    refused(tmp_path, packed(header, {**members, "array_1.npy": huge.getvalue()}))
    empty = io.BytesIO()
    declared = {"descr": "<U0", "fortran_order": False, "shape": (1000,)}
    np.lib.format.write_array_header_1_0(empty, declared)
    refused(tmp_path, packed(header, {**members, "array_1.npy": empty.getvalue()}))
    text = model_file._as_bytes(np.array(["ab"])).replace(b"a\0\0\0", b"\xff" * 4)
    refused(tmp_path, packed(header, {**members, "array_1.npy": text}))


def test_a_member_that_the_header_does_not_name_is_not_read(written, tmp_path):
    refused(tmp_path, packed(*unpacked(written), [("evil.npy", b"no array")]))
    refused(tmp_path, packed(*unpacked(written), [("array_1", b"no array")]))


def test_a_model_after_something_else_is_refused(written, tmp_path):
    refused(tmp_path, b"#!/bin/sh\nexit\n" + written)


def test_declared_sizes_are_checked_before_anything_is_read(written, tmp_path, monkeypatch):
    bomb = bytearray(written)
    entry = bomb.rindex(b"PK\x01\x02")
    bomb[entry + 20 : entry + 28] = b"\xf0\xff\xff\xff" * 2
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *ignored: pytest.fail("it was read"))
    refused(tmp_path, bytes(bomb))


@given(data=st.data())
def test_flipped_bytes(data, written, lines, tmp_path_factory):
    content = bytearray(written)
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place] ^= data.draw(st.integers(1, 255))
    assert_refused_or_the_same(bytes(content), written, lines, tmp_path_factory)


@given(data=st.data())
def test_truncated_files(data, written, lines, tmp_path_factory):
    kept = data.draw(st.integers(0, len(written) - 1))
    assert_refused_or_the_same(written[:kept], written, lines, tmp_path_factory)


@given(data=st.data())
def test_flipped_bytes_in_the_directory(data, written, lines, tmp_path_factory):
    content = bytearray(written)
    place = data.draw(st.integers(content.index(b"PK\x01\x02"), len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    assert_refused_or_the_same(bytes(content), written, lines, tmp_path_factory)


def assert_refused_or_the_same(content, written, lines, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "flipped.npz"
    path.write_bytes(content)
    try:
        model = load(path)
    except ValueError:
        return
    path.write_bytes(written)
    np.testing.assert_array_equal(model.transform(lines), load(path).transform(lines))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


@given(value=PLAIN)
def test_plain_values_survive_json(value):
    arrays = {}
    again = json.loads(json.dumps(serialise(value, arrays), allow_nan=False))
    assert_same(deserialise(again, arrays), value)


def test_arrays_and_flats_survive():
    flat = Subspace(np.arange(3.0), np.asfortranarray(np.eye(3)[:, :2]), np.array([np.inf, 0.0]))
    value = {"flat": flat, "text": np.array(["a", "bc"]), "graph": sparse.eye_array(3).tocsr()}
    arrays = {}
    assert_same(deserialise(serialise(value, arrays), arrays), value)
    assert arrays == {}


@pytest.mark.skipif(os.name != "posix", reason="pipes as of POSIX")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "m.npz")
    with pytest.raises(ValueError, match=r"m\.npz is a device or a pipe"):
        load(tmp_path / "m.npz")
