"""The sentence on how to install an optional dependency, which all error messages use."""


def install(extra: str) -> str:
    """Return a sentence on how to install ``extra``, a group of dependencies in pyproject.toml."""
    return f"Use pip install '.[{extra}]' in a clone of the project"
