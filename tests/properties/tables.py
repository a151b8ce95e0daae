"""Tables as nobody would wish them: degenerate, extreme, oddly stored."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

KINDS = (
    "noise", "noise", "flats", "flats", "exact flats", "copies", "zero rows", "zero columns",
    "collinear", "one axis", "grid", "constant", "spike", "two points",
)  # fmt: skip
STORAGE = (
    "C", "C", "C", "C", "C", "C", "C", "C", "F", "every other", "reversed", "read-only", "list",
    "pandas", "mixed pandas", "polars", "float32", "float16", "int64", "int8", "bool",
    "big-endian", "longdouble",
)  # fmt: skip
# The same float64 numbers, whatever holds them.
EXACT = ("F", "every other", "reversed", "read-only", "list", "pandas", "polars", "big-endian")
# Most of them allow a fit; the rest are for the checks.
SIZES = (12, 12, 16, 16, 20, 20, 24, 24, 30, 30, 40, 40, 60, 60, 8, 8, 5, 3, 2, 1)
WIDTHS = (3, 3, 4, 4, 5, 5, 9, 9, 30, 2, 1)
EXPONENTS = (0, 0, 0, 0, 0, 0, 0, 0, 0, 8, -20, -100, 100, -139, 139, -150, 150)
OFFSETS = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1e3, 1e8, 1e15)


@dataclass(frozen=True)
class Draw:
    """A table in few words, so that hypothesis can shrink it."""

    kind: str
    n: int
    p: int
    seed: int
    exponent: int
    offset: float
    storage: str

    def matrix(self):
        """The values in float64."""
        random = np.random.default_rng(self.seed)
        values = MAKERS[self.kind](random, self.n, self.p)
        if self.exponent:
            values = values * 10.0**self.exponent
        return values + self.offset * max(np.abs(values).max(initial=0.0), 1e-300)

    def table(self):
        """The values as the storage has them."""
        with np.errstate(over="ignore", invalid="ignore"):
            return stored(self.matrix(), self.storage)


def draws():
    """Any table."""
    return st.builds(
        Draw,
        kind=st.sampled_from(KINDS),
        n=st.sampled_from(SIZES),
        p=st.sampled_from(WIDTHS),
        seed=st.integers(0, 10**6),
        exponent=st.sampled_from(EXPONENTS),
        offset=st.sampled_from(OFFSETS),
        storage=st.sampled_from(STORAGE),
    )


def _flats(random, n, p, noise):
    directions = random.normal(size=(3, p))
    rows = random.normal(size=(n, 1)) * directions[random.integers(3, size=n)]
    return rows + noise * random.normal(size=(n, p))


def _copies(random, n, p):
    few = random.normal(size=(max(n // 4, 1), p))
    return few[random.integers(len(few), size=n)]


def _blanked(random, n, p, axis):
    values = random.normal(size=(n, p))
    blank = random.random(values.shape[axis]) < 0.5
    if axis == 0:
        values[blank] = 0.0
    else:
        values[:, blank] = 0.0
    return values


def _collinear(random, n, p):
    base = random.normal(size=(n, 1)) * random.normal(size=(1, p))
    return base + 10.0 ** random.integers(-16, -4) * random.normal(size=(n, p))


def _spike(random, n, p):
    values = 1e-9 * random.normal(size=(n, p))
    values[random.integers(n), random.integers(p)] = 1.0
    return values


MAKERS = {
    "noise": lambda random, n, p: random.normal(size=(n, p)),
    "flats": lambda random, n, p: _flats(random, n, p, 0.1),
    "exact flats": lambda random, n, p: _flats(random, n, p, 0.0),
    "copies": _copies,
    "zero rows": lambda random, n, p: _blanked(random, n, p, 0),
    "zero columns": lambda random, n, p: _blanked(random, n, p, 1),
    "collinear": _collinear,
    "one axis": lambda random, n, p: np.outer(random.normal(size=n), np.arange(p) == 0),
    "grid": lambda random, n, p: random.integers(-1, 2, size=(n, p)).astype(float),
    "constant": lambda random, n, p: np.full((n, p), float(random.integers(3))),
    "spike": _spike,
    "two points": lambda random, n, p: np.outer(random.choice([1.0, -2.0], n), np.ones(p)),
}  # fmt: skip


def stored(values, storage):
    """The same numbers in another container; rounded where it holds fewer digits."""
    if storage in CONTAINERS:
        return CONTAINERS[storage](values)
    if storage in ("int64", "int8"):
        low, high = np.iinfo(storage).min, np.iinfo(storage).max
        return np.clip(np.rint(values), low * 0.999, high * 0.999).astype(storage)
    return values.astype(storage)


def _read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def _named(values):
    return [f"v{j}" for j in range(values.shape[1])]


def _mixed(values):
    frame = pd.DataFrame(values, columns=_named(values))
    frame["v0"] = frame["v0"].astype(np.float32)
    frame["flag"] = np.arange(len(frame)) % 2 == 0
    return frame


CONTAINERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other": lambda values: np.repeat(np.repeat(values, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda values: np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1],
    "read-only": _read_only,
    "list": lambda values: values.tolist(),
    "big-endian": lambda values: values.astype(">f8"),
    "pandas": lambda values: pd.DataFrame(values, columns=_named(values)),
    "mixed pandas": _mixed,
    "polars": lambda values: pl.DataFrame(values, schema=_named(values)),
}
