"""A small fit whose every name tries to break the page."""

from dataclasses import replace

import numpy as np
import pandas as pd

from subspaces import PSC
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import stability
from subspaces.messages import note
from subspaces.runtime.warning import collect_warnings
from subspaces.selection import select_n_clusters

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
ENDING = "</script><!-- <script>"
TITLE = "<b>Title</b> & </title><script>alert(3)</script>"
NAMES = [SCRIPT, IMAGE, ENDING, "a & b &amp; c", "%{x} $x^2$ <a href='http://x.org'>link</a>"]
CLASSES = ["<i>first</i>", "'second\""]
VARIABLES = ["<script>alert(4)</script>", "</td></table>", "gene <3", "\u2028\x00\ud800", "TP53"]


def hostile_frame():
    """45 samples of 30 variables; the sample called SCRIPT lies far out in its cluster."""
    union = make_subspaces([20, 25], 30, [2, 3], noise=0.05, random_state=3)
    X = union.data.copy()
    X[0] *= 3
    samples = NAMES + [f"sample {i}" for i in range(len(NAMES), len(X))]
    variables = VARIABLES + [f"gene {j}" for j in range(len(VARIABLES), X.shape[1])]
    # As objects: pandas' own strings do not hold half of a pair of UTF-16.
    columns = pd.Index(variables, dtype=object)
    return pd.DataFrame(X, index=samples, columns=columns), np.array(CLASSES)[union.target]


def hostile_fit():
    """The data, the fitted model, and all options of its page."""
    X, classes = hostile_frame()
    model = PSC(2, n_components=[2, 3], n_init=5, random_state=0).fit(X)
    model.record_ = replace(model.record_, warned=(note(f"{SCRIPT} kept emptying"),))
    sure = stability(PSC(2, n_components=3, n_init=1, random_state=0), X, n_resamples=2)
    with collect_warnings():  # the largest of so few candidates is chosen, and said to be
        chosen = select_n_clusters(PSC(n_components=2, n_init=1, random_state=0), X, range(1, 4))
    return X, model, {
        "title": TITLE, "classes": classes, "stability": sure, "selection": chosen,
        "markers": model.markers(X),
        "metadata": {IMAGE: classes, "age": np.linspace(20, 80, len(X))},
    }  # fmt: skip
