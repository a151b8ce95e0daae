"""Are probabilities of labels what they say? Random unions of subspaces, training and new samples.

    python benchmarks/calibration.py [--sets 200] [--jobs -1]
    python benchmarks/calibration.py --real [--data DIR]
    python benchmarks/calibration.py --memory

Each set draws 2 to 5 clusters of 1 to 4 dimensions in 5 to 200 variables, 20 to 300 samples per
cluster, noise of standard deviation 0.05 to 0.4, and uniform or normal scores. 40 % have centres,
40 % unequal dimensions. A quarter as many sets have sparse loadings. The number of clusters and
their dimensions are given.

1. Expected calibration error of the label's probability: 15 bins, samples of all sets pooled. A
   label is right if it is that of the true cluster, clusters matched on the training samples.
2. Sets of labels: how often they hold the label that a fit to an independent sample of half the
   size gives, clusters matched, and how often the true one; their mean size.
3. Whether the most probable cluster is the label: on these fits, on copies of few samples, and on
   one cluster.

Writes benchmarks/results/calibration.md; an interrupted run goes on where it stopped. --real draws
reliability diagrams of digits, penguins and faces (DIR, or SUBSPACES_DATA, holds faces/faces.npz)
to docs/images/calibration.png and writes benchmarks/results/calibration_real.md. --memory prints
the peak memory beyond X of `predict_proba` at 100,000 x 50, and writes nothing.
"""

import argparse
import os
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from harness import ROOT, markdown, run_cells, save
from real import leading_coordinates, unit_images
from sklearn.datasets import load_digits
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from subspaces import MPPCA, PSC
from subspaces.datasets import load_penguins, make_subspaces
from subspaces.diagnostics import label_confidence, label_sets
from subspaces.metrics import matched_accuracy, matched_labels

N_BINS = 15
COVERAGES = (0.8, 0.9, 0.95)
# Agreement of halves above which plain probabilities are to be calibrated.
GATE = 0.7
METHODS = {
    "plain": "`predict_proba`, `probabilities_`",
    "shrunk": "`label_confidence`",
    "mppca": "MPPCA",
    "mixture": "GaussianMixture",
}
# Bins of a reliability diagram: few labels are unsure. Those with fewer samples are not drawn.
EDGES, FEWEST = (0.6, 0.8, 0.9, 0.97, 0.999), 8
KINDS = {"dense": "principal axes", "sparse": "sparse loadings"}


def drawn(kind, seed):
    """Training samples, new ones and half as many more, each with classes, and how to fit them."""
    random = np.random.default_rng([seed, list(KINDS).index(kind)])
    n_clusters = int(random.integers(2, 6))
    p = round(np.exp(random.uniform(np.log(5), np.log(200))))
    widths = random.integers(1, 5, size=n_clusters)
    if random.random() < 0.6:
        widths[:] = widths[0]
    options, affine = {}, bool(random.random() < 0.4)
    if kind == "sparse":
        p, widths = max(p, 20), np.minimum(widths, 2)
        options["n_variables"] = p // 4
    widths = np.minimum(widths, p - 1)
    sizes = np.exp(random.uniform(np.log(20), np.log(300), size=n_clusters)).astype(int)
    offset = random.uniform(0.3, 1.5) / np.sqrt(p) if affine else 0.0
    union = make_subspaces(
        (5 * sizes // 2).tolist(),
        p,
        widths.tolist(),
        noise=random.uniform(0.05, 0.4),
        offset=offset,
        scores="uniform" if random.random() < 0.5 else "normal",
        random_state=int(random.integers(2**31)),
        **options,
    )
    place = np.concatenate([random.permutation(5 * size // 2) for size in sizes])
    own = sizes[union.target]
    parts = place < own, (place >= own) & (place < 2 * own), place >= 2 * own
    samples = [(union.data[part], union.target[part]) for part in parts]
    given = {"n_components": widths.tolist(), "affine": affine, "random_state": 0, **options}
    return samples, n_clusters, given


def binned(p, right):
    """For each bin of the label's probability: samples, sum of probabilities, right labels."""
    place = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    sums = (np.bincount(place, weights, N_BINS).tolist() for weights in (np.ones(len(p)), p, right))
    return list(sums)


def one_set(kind, seed):
    """All that is measured on one set, as numbers and lists."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (train, new, half), n_clusters, given = drawn(kind, seed)
        model = PSC(n_clusters, **given).fit(train[0])
        found = label_confidence(model, train[0], random_state=seed)
        fresh = model.predict_proba(new[0])
        answers = {
            "plain": (model.probabilities_, fresh),
            "shrunk": (found.probabilities, found.shrink(fresh)),
        }
        rivals = {"mixture": GaussianMixture(n_clusters, random_state=0)}
        if kind == "dense":
            few = {name: given[name] for name in ("n_components", "random_state")}
            rivals["mppca"] = MPPCA(n_clusters, **few)
        for name, rival in rivals.items():
            rival.fit(train[0])
            answers[name] = rival.predict_proba(train[0]), rival.predict_proba(new[0])
        result = {
            "agreement": found.agreement,
            "shrinkage": found.shrinkage,
            "accuracy": matched_accuracy(train[1], model.labels_),
            "bins": {name: scored(each, train, new) for name, each in answers.items()},
            "sets": sets(model, train, half, given, seed),
            "argmax": identities(model, train[0], new[0], n_clusters, given),
        }
    return result


def scored(answers, train, new):
    """Bins of the most probable cluster of training and of new samples."""
    labels = [p.argmax(axis=1) for p in answers]
    # Matched on the training samples alone.
    size = max(train[1].max(), labels[0].max(), labels[1].max()) + 1
    owner = np.full(size, -1)
    for k, name in zip(labels[0], matched_labels(train[1], labels[0]), strict=True):
        owner[k] = name
    return [
        binned(p.max(axis=1), owner[own] == classes)
        for p, own, (_, classes) in zip(answers, labels, (train, new), strict=True)
    ]


def sets(model, train, half, given, seed):
    """Coverage of the label of an independent half, of the true one, and mean size, by level."""
    other = PSC(len(model.subspaces_), **given).fit(half[0]).predict(train[0])
    covered = matched_labels(model.labels_, other)
    true = matched_labels(model.labels_, train[1])
    rows, found = np.arange(len(true)), []
    for coverage in COVERAGES:
        held = label_sets(model, train[0], coverage, random_state=seed)
        inside = [float(held[rows, each].mean()) for each in (covered, true)]
        found.append([*inside, float(held.sum(axis=1).mean())])
    return found


def identities(model, X, new, n_clusters, given):
    """Whether the most probable cluster is the label: these samples, copies, one cluster."""
    copies = np.repeat(X[:: max(len(X) // 40, 1)], 3, axis=0)
    quick = {**given, "n_init": 1}
    alone = {**quick, "n_components": given["n_components"][0]}
    models = [(model, X), (PSC(n_clusters, **quick), copies), (PSC(1, **alone), X)]
    same = []
    for each, rows in models:
        each = each if each is model else each.fit(rows)
        same += [np.array_equal(each.probabilities_.argmax(axis=1), each.labels_)]
        same += [np.array_equal(each.predict_proba(new).argmax(axis=1), each.predict(new))]
        same += [bool(np.abs(each.probabilities_.sum(axis=1) - 1).max() < 1e-12)]
    return [bool(np.all(same)), len(models)]


def pooled(results, name, place):
    """Expected calibration error over the samples of several sets, as text."""
    if not results:
        return ""
    n, claimed, right = np.sum([each["bins"][name][place] for each in results], axis=0)
    return f"{np.abs(claimed - right).sum() / n.sum():.3f}"


def off_alone(results, name, place):
    """Mean and largest difference between claimed and true share of right labels, by set."""
    sums = np.array([np.sum(each["bins"][name][place], axis=1) for each in results])
    off = np.abs(sums[:, 1] - sums[:, 2]) / sums[:, 0]
    return f"{off.mean():.3f}, {off.max():.3f}"


def calibration_table(results):
    """Calibration errors of training / new samples, by method and group of sets."""
    trusted = [each for each in results if each["agreement"] > GATE]
    doubted = [each for each in results if each["agreement"] <= GATE]
    groups = {f"halves agree > {GATE}": trusted, f"<= {GATE}": doubted, "all": results}
    rows = []
    for name, words in METHODS.items():
        if name not in results[0]["bins"]:
            continue
        errors = [f"{pooled(g, name, 0)} / {pooled(g, name, 1)}" for g in groups.values()]
        rows.append([words, *errors, off_alone(results, name, 0), off_alone(results, name, 1)])
    heads = [f"{words} ({len(group)} sets)" for words, group in groups.items()]
    return markdown(
        ["", *heads, "one set, training: mean, worst", "one set, new: mean, worst"], rows
    )


def sets_table(results):
    """Coverage and mean size of sets of labels, by level."""
    values = np.array([each["sets"] for each in results])  # (sets, levels, 3)
    rows = [
        [level, *(f"{number:.3f}" for number in (*means, least, share))]
        for level, means, least, share in zip(
            COVERAGES,
            values.mean(axis=0).tolist(),
            np.quantile(values[:, :, 0], 0.1, axis=0).tolist(),
            np.mean(values[:, :, 0] >= np.array(COVERAGES) - 0.03, axis=0).tolist(),
            strict=True,
        )
    ]
    heads = ["coverage", "label of an independent half", "true label", "mean size"]
    heads += ["10th percentile of sets", "share of sets within 0.03"]
    return markdown(heads, rows)


def page(results):
    """The results as text."""
    parts = ["# Are probabilities of labels what they say?", __doc__.split("\n\n", 2)[2].strip()]
    parts[1] = parts[1].rpartition("\n\n")[0]
    for kind, words in KINDS.items():
        own = [each for (name, _), each in results.items() if name == kind]
        if own:
            parts += [f"## {words}", "Expected calibration error, training / new samples:"]
            parts += [calibration_table(own), "Sets of labels:", sets_table(own)]
    fits = sum(each["argmax"][1] for each in results.values())
    wrong = sum(not each["argmax"][0] for each in results.values())
    parts.append(
        f"The most probable cluster is the label, and rows sum to 1 within 1e-12, on {fits} fits "
        f"with training and new samples. Sets with an exception: {wrong}."
    )
    return "\n\n".join(parts)


def real_sets(folder):
    """Yield name, rows, classes and unfitted model of each real set."""
    digits = load_digits()
    yield "digits", digits.data, digits.target, PSC(10, n_components=9, random_state=0)
    penguins = load_penguins()
    known = penguins.frame.notna().all(axis=1)
    birds = penguins.frame[known] / penguins.frame[known].std()
    automatic = PSC("auto", n_components="auto", affine="auto", random_state=0)
    yield "penguins", birds.to_numpy(), penguins.target[known], automatic
    images, subjects = unit_images(Path(folder) / "faces" / "faces.npz")
    own = np.isin(subjects, np.unique(subjects)[:5])
    rows = leading_coordinates(images[own], 45)
    yield "faces of 5 people", rows, subjects[own], PSC(5, n_components=9, random_state=0)


def real(folder):
    """Draw how often labels of each probability are right on real sets, and write a table."""
    import matplotlib.pyplot as plt

    from subspaces.plots import COLOURS
    from subspaces.plots._style import PAPER

    rows = []
    with plt.rc_context(PAPER):
        figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.9), layout="constrained", sharey=True)
        for ax, (name, X, classes, model) in zip(axes, real_sets(folder), strict=True):
            codes = np.unique(classes, return_inverse=True)[1]
            with threadpool_limits(1):
                model.fit(X)
                found = label_confidence(model, X, random_state=0)
            right = matched_labels(codes, model.labels_) == codes
            ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8, zorder=0)
            shown = {"as fitted": model.probabilities_, "shrunk by halves": found.probabilities}
            row = [name, len(X), f"{right.mean():.3f}", f"{found.agreement:.3f}"]
            for (words, p), colour, marker in zip(shown.items(), COLOURS, "os", strict=False):
                own = p.max(axis=1)
                _draw_reliability(ax, own, right, words, colour, marker)
                n, claimed, sure = np.array(binned(own, right))
                error = np.abs(claimed - sure).sum() / n.sum()
                row += [f"{own.mean():.3f}", f"{error:.3f}"]
            rows.append([*row, found.grade.value])
            ax.set(xlabel="probability of the label", xlim=(0.4, 1.03), ylim=(0.2, 1.05))
            ax.set_title(f"{name}\n{100 * right.mean():.0f} % of the labels are right")
        axes[0].set_ylabel("share of right labels")
        axes[1].legend(loc="lower right")
        figure.savefig(ROOT / "docs" / "images" / "calibration.png", dpi=150)
    heads = ["", "samples", "right labels", "agreement of halves", "mean probability, plain"]
    heads += ["calibration error", "mean probability, shrunk", "calibration error", "grade"]
    save(
        "calibration_real",
        "# How sure the labels of real sets are\n\n`python benchmarks/calibration.py --real`. A "
        "label is right if its cluster matches the class of the sample.\n\n"
        + markdown(heads, rows),
    )


def _draw_reliability(ax, p, right, words, colour, marker):
    """Draw the share of right labels in each bin of probabilities, with its standard error.

    The area of a mark grows with the number of samples.
    """
    place, shown = np.searchsorted(EDGES, p), []
    for part in (np.flatnonzero(place == k) for k in range(len(EDGES) + 1)):
        if len(part) >= FEWEST:
            share = right[part].mean()
            error = np.sqrt(share * (1 - share) / len(part))
            shown.append((p[part].mean(), share, error, 10 + 90 * len(part) / len(p)))
    x, y, spread, area = np.transpose(shown)
    ax.errorbar(x, y, spread, color=colour, linewidth=0.8)
    ax.scatter(x, y, area, color=colour, marker=marker, alpha=0.8, label=words)


def memory():
    """Print the peak memory beyond X of `predict_proba` at 100,000 x 50."""
    union = make_subspaces([25_000] * 4, 50, [3] * 4, noise=0.2, random_state=0)
    model = PSC(4, n_components=3, random_state=0).fit(union.data[::20])
    for X in (union.data, union.data.astype(np.float32)):
        tracemalloc.start()
        p = model.predict_proba(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"X {X.nbytes / 2**20:.1f} MiB, beyond it {peak / 2**20:.1f} MiB, "
            f"of which the answer {p.nbytes / 2**20:.1f} MiB"
        )


def main():
    """Run all sets and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--data", default=os.environ.get("SUBSPACES_DATA"))
    given = parser.parse_args()
    if given.real:
        real(given.data)
        return
    if given.memory:
        memory()
        return
    few = max(given.sets // 4, 1)
    cells = [(kind, s) for kind in KINDS for s in range(given.sets if kind == "dense" else few)]
    save("calibration", page(run_cells(one_set, cells, given.jobs, keep="calibration")))


if __name__ == "__main__":
    main()
