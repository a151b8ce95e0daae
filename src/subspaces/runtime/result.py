"""Results that print as what they say, not as long arrays."""

from dataclasses import fields
from typing import Any


class WithVerdict:
    """Base class of frozen dataclasses with a verdict: they print it, and name their attributes."""

    verdict: str

    def __repr__(self) -> str:
        own: Any = self
        names = ", ".join(field.name for field in fields(own) if field.name != "verdict")
        return f"{type(self).__name__}: {self.verdict}\n(attributes: {names})"
