"""Which warnings a call raises, by their codes, and which parameter it refuses."""

import warnings
from contextlib import contextmanager

import pytest

from subspaces.messages import ParameterError, SubspacesWarning


def codes_of(raised):
    """Return the codes of the library's warnings among those raised, each once, in order."""
    return list(dict.fromkeys(w.code for w in raised if isinstance(w, SubspacesWarning)))


@contextmanager
def warns(*codes, kind=SubspacesWarning):
    """Check that a block raises a warning of each of these codes; all others pass on.

    Yields a list that then has their records: ``.message`` is the warning.
    """
    found = []
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        yield found
    for each in raised:
        if getattr(each.message, "code", None) in codes:
            found.append(each)
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    said = [str(each.message) for each in raised]
    assert set(codes_of(each.message for each in found)) == set(codes), f"{codes} among {said}?"
    assert all(isinstance(each.message, kind) for each in found), f"{kind} among {said}?"


@contextmanager
def refuses(parameter, value=None, kind=ParameterError, naming=(), **facts):
    """Check that a block raises a `ParameterError` on this parameter, with this value and facts.

    naming: code, names and figures that its text has.
    """
    with pytest.raises(ParameterError) as raised:
        yield raised
    assert raised.value.parameter == parameter
    assert value in (None, raised.value.value)
    assert isinstance(raised.value, kind)
    assert facts.items() <= raised.value.parameters.items()
    assert [each for each in naming if each not in str(raised.value)] == []
