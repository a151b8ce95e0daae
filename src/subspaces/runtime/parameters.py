"""Checks of parameters; an error names the parameter, its value, and what to use instead."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import TypeVar

import numpy as np
from sklearn.utils import check_random_state

from subspaces._types import Seed

Choice = TypeVar("Choice", bound=str)
# One of a thing that is counted in the plural.
ONE_OF_MANY = re.compile(r"\b1 (sample|variable|cluster)s\b")


def as_count(
    value: object, name: str, *, low: int, high: int | None = None, why: str = "",
    auto: int | None = None,
) -> int:  # fmt: skip
    """Return ``value`` as an int; raise an error unless it is from ``low`` to ``high``.

    why: the end of the sentence, such as " for 8 variables"; one is said as " for 1 variable".
    auto: what "auto" stands for, if it is taken.
    """
    if auto is not None and isinstance(value, str) and value == "auto":
        return auto
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is not an integer. Use one from {low} up")
    count = int(value)
    if count < low or (high is not None and count > high):
        span = f"{low} or more" if high is None else f"{low} to {high}" if high > low else f"{low}"
        why = ONE_OF_MANY.sub(r"1 \1", why)
        raise ValueError(f"{name}={count} is out of range{why}. Use {span}")
    return count


def as_choice(value: object, name: str, choices: tuple[Choice, ...]) -> Choice:
    """Return ``value`` if it is one of ``choices``; otherwise raise ValueError."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r} is unknown. Use one of {', '.join(choices)}")
    return value


def check_options(given: Iterable[str], known: Collection[str], function: str) -> None:
    """Raise TypeError for an option that ``function`` does not know, with the nearest of its own.

    For functions that hand their options on, whose errors would name a function within.
    """
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            use = near[0] if near else f"one of {', '.join(known)}"
            raise TypeError(f"{function} has no option {name!r}. Use {use}")


def as_flag(value: object, name: str) -> bool:
    """Return ``value`` as a Python bool; raise TypeError if it is anything else."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} is not a bool. Use True or False")
    return bool(value)


def as_real(
    value: float | str | None,
    name: str,
    *,
    low: float = 0.0,
    above: bool = False,
    high: float = np.inf,
) -> float:
    """Return ``value`` as a float; raise an error unless it is finite, from ``low`` to ``high``.

    above: whether ``low`` itself is refused.
    """
    span = f"a number above {low:g}" if above else f"{low:g} or more"
    span += "" if np.isinf(high) else f", up to {high:g}"
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is not a number. Use {span}") from None
    too_low = number <= low if above else number < low
    if not np.isfinite(number) or too_low or number > high:
        raise ValueError(f"{name}={value!r} is out of range. Use {span}")
    return number


def as_jobs(value: int | None) -> int | None:
    """Return ``n_jobs`` as joblib takes it: None, or an int other than 0; otherwise raise."""
    if value is None:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"n_jobs={value!r} is not an integer. Use 1 or more, -1 for all cores")
    if value == 0:
        raise ValueError("n_jobs=0 leaves no thread. Use 1 or more, -1 for all cores, or None")
    return int(value)


def as_generator(random_state: Seed) -> np.random.Generator:
    """Return a numpy Generator seeded by ``random_state``: None, an int or a RandomState."""
    try:
        random = check_random_state(random_state)
    except ValueError:
        what = f"={random_state!r} seeds nothing"
        if isinstance(random_state, np.random.Generator):
            what = " is a numpy Generator, which is not taken here"
        raise ValueError(
            f"random_state{what}. Use an int from 0 up, a numpy.random.RandomState or None"
        ) from None
    return np.random.default_rng(random.randint(2**31 - 1))
