"""Checks of parameters; an error names the parameter, its value, and what to use instead."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from subspaces._types import Seed
from subspaces.messages import Advice, ParameterError, ParameterTypeError

Choice = TypeVar("Choice", bound=str)


def as_count(
    value: object, name: str, *, low: int, high: int | None = None, why: str = "",
    auto: int | None = None, **facts: Any,
) -> int:  # fmt: skip
    """Return ``value`` as an int; raise an error unless it is from ``low`` to ``high``.

    why: the end of the sentence, such as " for {p:#variable}", with p among ``facts``. auto: what
    "auto" stands for, if it is taken.
    """
    if auto is not None and isinstance(value, str) and value == "auto":
        return auto
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise _wrong(name, value, "not an integer", f"{low} or more", ParameterTypeError)
    count = int(value)
    if count < low or (high is not None and count > high):
        span = f"{low} or more" if high is None else f"{low} to {high}" if high > low else f"{low}"
        raise _wrong(name, count, f"out of range{why}", span, **facts)
    return count


def _wrong(
    name: str,
    value: object,
    what: str,
    instead: str,
    kind: type[ParameterError] = ParameterError,
    **facts: Any,
) -> ParameterError:
    """Return the error of a parameter that is ``what``, to be used as ``instead``."""
    fact, advice = f"<{name}={{value!r}}> is {what}.", Advice(f"use {instead}", name)
    return kind(name, fact, advice, value=value, **facts)


def as_choice(value: object, name: str, choices: tuple[Choice, ...]) -> Choice:
    """Return ``value`` if it is one of ``choices``; otherwise raise an error."""
    if not isinstance(value, str) or value not in choices:
        instead = f"one of {', '.join(choices)}" if len(choices) > 1 else repr(choices[0])
        raise _wrong(name, value, "unknown", instead)
    return value


def check_options(given: Iterable[str], known: Collection[str], function: str) -> None:
    """Raise TypeError for an option that ``function`` does not know, with the nearest of its own.

    For functions that hand their options on, whose errors would name a function within.
    """
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            use = near[0] if near else f"one of {', '.join(known)}"
            fact = "{function} has no option {option!r}."
            advice, facts = Advice(f"use {use}"), {"function": function, "option": name}
            raise ParameterTypeError(name, fact, advice, **facts)


def as_flag(value: object, name: str) -> bool:
    """Return ``value`` as a Python bool; raise TypeError if it is anything else."""
    if not isinstance(value, bool | np.bool_):
        raise _wrong(name, value, "not a bool", "True or False", ParameterTypeError)
    return bool(value)


def as_real(
    value: float | str | None,
    name: str,
    *,
    low: float = 0.0,
    above: bool = False,
    high: float = np.inf,
    below: bool = False,
) -> float:
    """Return ``value`` as a float; raise an error unless it is finite, from ``low`` to ``high``.

    above, below: whether ``low`` itself, or ``high``, is refused.
    """
    span = f"a number above {low:g}" if above else f"{low:g} or more"
    if not np.isinf(high) and above == below:
        span = f"a number between {low:g} and {high:g}" if above else f"{low:g} to {high:g}"
    elif not np.isinf(high):
        span += f", below {high:g}" if below else f", up to {high:g}"
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise _wrong(name, value, "not a number", span, ParameterTypeError) from None
    too_low = number <= low if above else number < low
    too_high = number >= high if below else number > high
    if not np.isfinite(number) or too_low or too_high:
        raise _wrong(name, value, "out of range", span)
    return number


def as_jobs(value: int | None) -> int | None:
    """Return ``n_jobs`` as joblib takes it: None, or an int other than 0; otherwise raise."""
    if value is None:
        return None
    instead = "1 or more, -1 for all cores, or None"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise _wrong("n_jobs", value, "not an integer", instead, ParameterTypeError)
    if value == 0:
        raise _wrong("n_jobs", value, "out of range", instead)
    return int(value)


def as_generator(random_state: Seed) -> np.random.Generator:
    """Return a numpy Generator seeded by ``random_state``: None, an int or a RandomState."""
    from sklearn.utils import check_random_state

    try:
        random = check_random_state(random_state)
    except ValueError:
        instead = "an integer from 0 up, a numpy.random.RandomState or None"
        raise _wrong("random_state", random_state, "not a seed", instead) from None
    return np.random.default_rng(random.randint(2**31 - 1))
