"""HTML of the section "How to repeat this": all that somebody needs to get the same clusters."""

import hashlib
import platform
from importlib.metadata import version

import numpy as np
from sklearn.base import clone

from subspaces.app.report._draft import Draft
from subspaces.app.report._names import as_text, count, escape
from subspaces.app.report._tables import simple

LIBRARIES = ("subspaces", "numpy", "scipy", "scikit-learn")


def repeat(draft: Draft) -> str:
    """Return the HTML: data, preparation, call, seed and versions."""
    found, model = draft.found, draft.found.model
    n, p = len(found.labels), len(found.variable_names)
    rows = [[escape(name), _code(text)] for name, text in draft.origin.items()]
    rows.append(["Clustered", f"{count(n, 'sample')} x {count(p, 'variable')}"])
    if found.rows is not None:
        digest = hashlib.sha256(np.ascontiguousarray(found.rows, dtype="<f8").tobytes())
        rows.append(["SHA-256 of the clustered values", _code(digest.hexdigest())])
    preparation = getattr(model, "preparation_", None)
    if preparation is not None:
        told = f"{preparation.taken_for} " if preparation.taken_for else ""
        rows.append(["Values", escape(f"{told}Prepared before clustering: {preparation}.")])
    kind = type(model).__name__
    made = model
    if preparation is not None and preparation.axes is not None:  # the recipe chose the number
        made = clone(model).set_params(n_clusters=len(found.clusters))
    call = " ".join(repr(made).split())
    lines = [f"from subspaces import {kind}", f"model = {call}.fit(X)"]
    lines += ["# X: the prepared values"] if preparation is not None else []
    code = "\n".join(map(escape, lines))
    rows.append(["Python", f"<pre><code>{code}</code></pre>"])
    seed = getattr(model, "random_state", None)
    rows.append(
        ["Seed", "not set, so another fit may differ" if seed is None else _code(str(seed))]
    )
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    rows.append(["Versions", f"Python {platform.python_version()}, {versions}"])
    return simple("How these clusters were made.", [], rows, kind="whole words facts")


def _code(text: str) -> str:
    return f"<code>{escape(as_text(text))}</code>"
