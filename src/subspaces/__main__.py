"""Entry point of the command ``subspaces`` and of ``python -m subspaces``."""

import io
import os
import sys


def main() -> None:
    """Run the command line and exit with its code, or with one line that names a missing extra."""
    _prepare_streams()
    try:
        from subspaces.app.cli import main as run
    except ImportError as error:
        sys.exit(f"Error: {error}")
    sys.exit(run())


def _prepare_streams() -> None:
    """Let any text be printed: escaped if the encoding lacks it, nowhere if a stream is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
