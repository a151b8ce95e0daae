"""The commands: thin, no mathematics.

A command's module imports what computes inside the command, so that help comes at once.
"""

from subspaces._extras import install

try:
    import typer
except ImportError as error:
    raise ImportError(f"the command line needs typer. {install('cli')}") from error

from subspaces.cli._main import main
from subspaces.cli.app import app

__all__ = ["app", "main", "typer"]
