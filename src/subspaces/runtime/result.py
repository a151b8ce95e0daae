"""Results that print as what they say, not as long arrays."""

from dataclasses import fields
from typing import Any


class WithVerdict:
    """Base class of frozen dataclasses with a verdict: they print it, and name their attributes."""

    verdict: str

    def __repr__(self) -> str:
        own: Any = self
        names = [field.name for field in fields(own) if field.name != "verdict"]
        names += [name for name in ("table", "plot") if hasattr(type(self), name)]
        shown = ", ".join(f"{name}()" if name == "plot" else name for name in names)
        return f"{type(self).__name__}: {self.verdict}\n(attributes: {shown})"


class InShort:
    """Base class of frozen dataclasses that print the shapes of their arrays, not all numbers."""

    def __repr__(self) -> str:
        own: Any = self
        parts = [f"{field.name}={_in_short(getattr(own, field.name))}" for field in fields(own)]
        return f"{type(self).__name__}({', '.join(parts)})"


def _in_short(value: Any) -> str:
    """Return a value as text: a number in six digits, an array by its shape, texts by how many."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return f"<{len(value)} texts>" if value else "()"
    shape = getattr(value, "shape", None)
    return repr(value) if shape is None else f"<array {tuple(shape)}>"
