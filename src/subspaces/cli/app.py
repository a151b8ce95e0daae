"""The application that the commands hang on."""

from typing import Annotated

import typer

from subspaces.cli.compare import compare
from subspaces.cli.demo import demo
from subspaces.cli.fit import fit
from subspaces.cli.influence import influence
from subspaces.cli.predict import predict
from subspaces.cli.report import report
from subspaces.cli.select import select
from subspaces.cli.simulate import simulate

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
for command in (demo, fit, predict, report, select, compare, influence, simulate):
    app.command()(command)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"subspaces {version('subspaces')}")
        raise typer.Exit


@app.callback()
def subspaces(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find groups of samples and the variables (genes, say) that make each group.

    Each group is a cluster near its own low-dimensional subspace: a line, a plane, ...

    \b
    A first look:
      subspaces demo
      subspaces simulate c --sparse --out data.csv
      subspaces fit data.csv --labels cluster --clusters 2 --dims 2 --variables 10

    Every command has examples: subspaces fit --help
    """
