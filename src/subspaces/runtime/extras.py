"""The sentence on how to install an optional dependency, which all error messages use.

If subspaces itself is installed, from a clone, a wheel or an index, ``pip install
'subspaces[NAME]'`` finds it there and adds what that extra brings: "Install",
https://subspaces.readthedocs.io.
"""


def install(extra: str) -> str:
    """Return a sentence on how to install ``extra``, a group of dependencies in pyproject.toml."""
    return f"Run: pip install 'subspaces[{extra}]'"
