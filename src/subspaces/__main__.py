"""The command ``subspaces``; also ``python -m subspaces``."""

import sys


def main() -> None:
    """Run the command line, or say in one line which extra is missing."""
    try:
        from subspaces.cli import main as run
    except ImportError as error:
        sys.exit(f"Error: {error}")
    sys.exit(run())


if __name__ == "__main__":
    main()
