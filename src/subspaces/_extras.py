"""How to install what an optional part needs: the only place that says so."""


def install(extra: str) -> str:
    """A sentence that says how to get an extra of pyproject.toml; no package index has them."""
    return f"Use pip install '.[{extra}]' in a clone of the project"
