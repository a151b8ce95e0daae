"""The application and its exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted."""

import errno
import os
import sys
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Annotated

import typer

from subspaces.app.cli._options import expanded
from subspaces.app.cli._say import say_error
from subspaces.app.cli._words import in_options
from subspaces.app.cli.compare import compare
from subspaces.app.cli.demo import demo
from subspaces.app.cli.fit import fit
from subspaces.app.cli.influence import influence
from subspaces.app.cli.pca import pca
from subspaces.app.cli.predict import predict
from subspaces.app.cli.report import report
from subspaces.app.cli.select import select
from subspaces.app.cli.simulate import simulate

# Errors of the path that was typed, which another path mends; others are the machine's.
UNUSABLE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR,
    errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ,
}  # fmt: skip

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
for command in (demo, fit, predict, report, select, compare, influence, pca, simulate):
    app.command()(expanded(command))


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
    """Find groups of samples, and the variables (such as genes) that define each group.

    Each group is near its own low-dimensional subspace, such as a line or a plane.

    \b
    A first look:
      subspaces demo
      subspaces simulate c --sparse --out data.csv
      subspaces fit data.csv --labels cluster --clusters 2 --dims 2 --variables 10
      subspaces pca data.csv --labels cluster --out pca/

    Every command has examples: subspaces fit --help
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; print any error as one line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=given or ["--help"], prog_name="subspaces", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if "SUBSPACES_TRACEBACK" in os.environ:
            raise
        if isinstance(error, OSError) and error.filename is None:
            _discard_output()
        say_error(_described(error))
        return 2 if _is_bad_input(error) else 1
    if code == 130:
        say_error("Interrupted. Earlier results are unchanged.")
    return code if isinstance(code, int) else 0


def _is_bad_input(error: Exception) -> bool:
    """Return whether the user's input caused the error; a full disk, for one, does not count."""
    if isinstance(error, OSError):
        return error.filename is not None and error.errno in UNUSABLE
    return isinstance(error, (typer.TyperException, TypeError, ValueError))


def _discard_output() -> None:
    """Redirect stdout to nowhere, so that Python does not fail again to flush it at its exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _in_words(error: typer.TyperException) -> str:
    """Return an error of the command line in one line, with what to use for a wrong option."""
    typed, near = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if not near:
        # The words of pydantic, which reads the options, less what only programmers need.
        words = " ".join(error.format_message().split()).replace("Value error, ", "")
        words = words.replace("Input should be", "it should be")
        return words.partition(", unable to parse")[0].rstrip(".")
    best = max(sorted(near), key=lambda name: SequenceMatcher(None, str(typed), name).ratio())
    return f"{error.message}. Did you mean {best}?"


def _described(error: Exception) -> str:
    """Return an error as one line for the user: what is wrong, and what to use instead."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        more = f" (see: {context.command_path} --help)" if context else ""
        return _in_words(error) + more
    if isinstance(error, OSError) and error.strerror:
        full = error.errno == errno.ENOSPC and error.filename is not None
        done = ", so earlier results are unchanged. Free some disk space and run again"
        done = done if full else ""
        done = ". Check the path" if _is_bad_input(error) else done
        return f"{error.filename or 'Standard output'}: {error.strerror}{done}"
    if isinstance(error, MemoryError):
        return in_options(error) or (
            "There is not enough memory. Use a smaller table, or close other programs"
        )
    if isinstance(error, (ImportError, TypeError, ValueError)):
        return in_options(error)
    return (
        f"This is a bug in subspaces ({type(error).__name__}: {error}). Set the environment "
        "variable SUBSPACES_TRACEBACK=1, run the command again, and report what it prints at "
        f"{_issues()}"
    )


def _issues() -> str:
    """Return the address for reports of bugs."""
    from importlib.metadata import metadata

    addresses = (entry.split(", ") for entry in metadata("subspaces").get_all("Project-URL") or ())
    return next(address for name, address in addresses if name == "Issues")
