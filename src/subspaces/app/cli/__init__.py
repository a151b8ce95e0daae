"""The command line: one module per command, without computations of its own.

A command imports the library inside its function, so that ``--help`` is printed without delay.
"""

from subspaces.runtime.extras import install

try:
    import typer
except ImportError as error:
    raise ImportError(f"The command line needs typer. {install('cli')}") from error

from subspaces.app.cli.app import app, main

__all__ = ["app", "main", "typer"]
