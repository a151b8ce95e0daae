"""The command ``simulate``, which writes a table of simulated clusters."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from subspaces.app.cli import _options as options
from subspaces.app.cli import _outputs
from subspaces.app.cli._options import flag, setting
from subspaces.app.cli._say import say, say_json

# The scenarios of the paper.
Scenario = Literal["a", "b", "c", "d", "e"]


def simulate(
    scenario: Annotated[
        Scenario,
        typer.Argument(
            help="a: two lines. b: a line and a plane. c: two planes. d: a line, a plane and a "
            "3-dimensional space. e: a 5- and a 4-dimensional space and two lines.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, setting("CSV file to write.", "FILE")],
    sparse: Annotated[
        bool, flag("--sparse", "Make 200 variables and use 10 for each dimension.")
    ] = False,
    noise: Annotated[
        float | None,
        setting("Standard deviation of the noise. Default: 0, or 0.5 with --sparse.", "SD", min=0),
    ] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_document: options.Json = False,
) -> None:
    """Write a table of simulated clusters.

    Each cluster has 100 samples. The true clusters are in the last column.

    \b
    Examples:
      subspaces simulate d --noise 0.05 --out data.csv
      subspaces simulate c --sparse --out genes.csv
    """
    _outputs.refuse_to_overwrite(out, force=force)
    from subspaces.datasets import make_scenario

    drawn = make_scenario(scenario, sparse=sparse, noise=noise, random_state=seed)
    n, p = drawn.data.shape
    headings = ["sample", *(f"x{j + 1}" for j in range(p)), "cluster"]
    rows = (
        [f"s{i + 1}", *map(float, row), f"c{label}"]
        for i, (row, label) in enumerate(zip(drawn.data, drawn.target, strict=True))
    )
    _outputs.write_file(out, _outputs.as_csv(headings, rows), force=force)
    dims = ",".join(map(str, drawn.n_components))
    if as_document:
        say_json({"out": str(out), "samples": n, "variables": p, "dims": drawn.n_components})
        return
    say(f"Wrote {out}: {n} samples x {p} variables. The true clusters are in the column cluster.")
    more = " --variables 10" if sparse else ""
    k = len(drawn.n_components)
    say(f"Next: subspaces fit {out} --labels cluster --clusters {k} --dims {dims}{more}")
