"""Which of the library's warnings a call raises, by their codes."""

import warnings
from contextlib import contextmanager

from subspaces.messages import SubspacesWarning


def codes_of(raised):
    """Return the codes of the library's warnings among those raised, each once, in order."""
    return list(dict.fromkeys(w.code for w in raised if isinstance(w, SubspacesWarning)))


@contextmanager
def warns(*codes, kind=SubspacesWarning):
    """Check that a block raises a warning of each of these codes; yields a list to hold them.

    All other warnings pass on to the filters outside.
    """
    found = []
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        yield found
    for each in raised:
        if getattr(each.message, "code", None) in codes:
            found.append(each.message)
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    said = [str(each.message) for each in raised]
    assert set(codes_of(found)) == set(codes), f"{codes} expected of {said}"
    assert all(isinstance(each, kind) for each in found), f"{kind} expected of {said}"
