"""Entry point of the command ``subspaces`` and of ``python -m subspaces``."""

import sys


def main() -> None:
    """Run the command line and exit with its code, or with one line that names a missing extra."""
    try:
        from subspaces.cli import main as run
    except ImportError as error:
        sys.exit(f"Error: {error}")
    sys.exit(run())


if __name__ == "__main__":
    main()
