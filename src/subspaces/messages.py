"""What the library warns of and refuses, as values that each reader renders in its own terms.

A text names parameters by tokens in angle brackets, ``<n_components=3>`` or ``<n_components>``.
Python shows ``n_components=3``, the command line ``--dims 3``. Figures stand in braces and come
from the parameters of the message, so that a name from a table is never taken for a token.

Users filter by class, and ask a warning for its code:

>>> import warnings
>>> import numpy as np
>>> from subspaces import PSC, messages
>>> X = 9 + np.random.default_rng(0).normal(size=(60, 5))
>>> with warnings.catch_warnings(action="ignore", category=messages.DataWarning):
...     model = PSC(2, n_components=1, random_state=0).fit(X)
>>> [warning.code for warning in model.record_.warned]
['far_mean']
>>> print(model.record_.messages[0])
The samples are far from the origin, so each subspace uses an axis just for their mean (99 % of the
sum of squares). Set affine='auto' and n_components='auto', or centre the variables.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from subspaces.runtime.convergence import NotConvergedWarning

__all__ = [
    "Advice",
    "ChoiceWarning",
    "DataWarning",
    "Grade",
    "Message",
    "NotConvergedWarning",
    "ParameterError",
    "SubspacesWarning",
    "TrustWarning",
    "Verdict",
]

W = TypeVar("W", bound="Warning | Message")
# Renders a token: the parameter's name and its value as a Python literal, None for the name alone.
Say = Callable[[str, str | None], str]

TOKEN = re.compile(r"<([A-Za-z_][\w.\[\]]*)(?:=([^<>]*))?>")
# A message lists at most this many names.
LISTED = 5
# Characters of a text that stands for itself, which would otherwise begin a token or a field.
LITERAL = str.maketrans({"{": "{{", "}": "}}", "<": "{lt}", ">": "{gt}"})


def __getattr__(name: str) -> Any:
    if name == "NotConvergedWarning":
        from subspaces.runtime.convergence import NotConvergedWarning

        return NotConvergedWarning
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True)
class Advice:
    """One thing to do.

    Attributes
    ----------
    words : str
        The advice in Python: "use <affine=True>".
    parameter, value
        Which parameter to set, and its value.
    command : str or None
        The advice on the command line, if it differs. Empty if there is none.
    """

    words: str
    parameter: str | None = None
    value: Any = None
    command: str | None = None


def use(parameter: str, value: Any, command: str | None = None) -> Advice:
    """Return the advice to set a parameter to a value."""
    return Advice(f"use <{parameter}={literal(repr(value))}>", parameter, value, command)


def simpler(n_clusters: int, dimension: int, affine: bool = False) -> tuple[Advice, ...]:
    """Return the advice to try fewer clusters or a smaller dimension, if there are any."""
    fewer = (FEWER_CLUSTERS,) if n_clusters > 1 else ()
    return (*fewer, SMALLER_DIMENSION) if dimension + affine > 1 else fewer


FEWER_CLUSTERS = Advice("try fewer clusters", "n_clusters")
SMALLER_DIMENSION = Advice("try a smaller <n_components>", "n_components")
FILL = Advice(
    "fill missing values with PSC(...).fit(X).impute(X)",
    command=("fill missing values with subspaces fit --imputed"),
)
FILL_BY_PCA = Advice(
    "fill them first with PCA().fit(X).impute(X)",
    command="fill them first with subspaces fit --imputed",
)
UNWEIGHTED = Advice("leave out <sample_weight>", "sample_weight")
# Verbs that are said once: "use this, or that".
VERBS = ("use ", "try ", "set ", "add ", "increase ")
MORE_ITERATIONS = Advice("increase <max_iter>", "max_iter", command="")


@dataclass(frozen=True)
class Message:
    """A warning as a value that can be stored.

    Attributes
    ----------
    code : str
        A short name that does not change, such as "far_mean".
    fact : str
        What is wrong, in one sentence.
    parameters : dict
        Numbers and names in the sentence.
    advice : tuple of Advice
        What to do.
    kind : str
        Class of the warning.
    """

    code: str
    fact: str
    parameters: dict[str, Any] = field(default_factory=dict)
    advice: tuple[Advice, ...] = ()
    kind: str = "SubspacesWarning"

    def __str__(self) -> str:
        return self.in_words()

    def in_words(
        self, say: Say | None = None, settled: Collection[str] = (), *, command: bool = False
    ) -> str:
        """Return the fact, and a sentence of advice.

        say: how to write parameters, by default as Python. settled: parameters that you have set.
        They get no advice. command: whether to use the words of the command line.
        """
        words = [
            advice.words if advice.command is None or not command else advice.command
            for advice in self.advice
            if advice.parameter not in settled
        ]
        words = [each for each in words if each]
        verb = next((verb for verb in VERBS if words and words[0].startswith(verb)), "")
        *first, last = [each.removeprefix(verb) for each in words] or [""]
        todo = verb + (f"{', '.join(first)}, or {last}" if first else last)
        text = f"{self.fact} {todo[0].upper()}{todo[1:]}." if todo else self.fact
        return rendered(text, say or as_python, self.parameters)


class Grade(StrEnum):
    """How sure an answer is.

    Use the grade in your code, because the words of a verdict can change.

    Examples
    --------
    >>> import numpy as np
    >>> from subspaces.diagnostics import pca_components
    >>> from subspaces.messages import Grade
    >>> exact = np.outer(np.arange(20.0), np.arange(1.0, 7.0))
    >>> pca_components(exact).grade is Grade.SURE
    True
    """

    SURE = "sure"
    DOUBTFUL = "doubtful"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict(Message):
    """The answer to a question about a result, with a grade.

    Attributes
    ----------
    code, fact, parameters, advice, kind
        As in `Message`. A fact without advice can have two sentences.
    grade : Grade
        How sure the answer is.
    """

    kind: str = "Verdict"
    grade: Grade = Grade.UNKNOWN


def worded(text: str, grade: Grade) -> Verdict:
    """Return a finished text with its grade as a verdict."""
    return Verdict("kept", "{text}", {"text": text}, grade=grade)


def note(text: str) -> Message:
    """Return a finished text, such as a warning of another library, as a message."""
    return Message("note", "{text}", {"text": text}, kind="UserWarning")


def noted(code: str, fact: str, *advice: Advice, **parameters: Any) -> Message:
    """Return a note on how a table was read."""
    return Message(code, fact, parameters, advice, kind="note")


class _Spoken:
    """What warnings and errors share: they hold a `Message` and print it."""

    message: Message

    @property
    def code(self) -> str:
        """A short name of the problem, which does not change."""
        return self.message.code

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers and names in the message."""
        return self.message.parameters

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to do."""
        return self.message.advice

    def __str__(self) -> str:
        return str(self.message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class SubspacesWarning(_Spoken, UserWarning):
    """Base class of all warnings of this library."""

    def __init__(self, code: str, fact: str, *advice: Advice, **parameters: Any) -> None:
        super().__init__(code, fact, *advice)
        self.message = Message(code, fact, parameters, advice, type(self).__name__)


class DataWarning(SubspacesWarning):
    """There may be a problem with the table, such as missing values, copies or scales."""


class TrustWarning(SubspacesWarning):
    """The clusters or components may not be real."""


class ChoiceWarning(SubspacesWarning):
    """Another value of a parameter may be better than the one that was set or chosen."""


class ParameterError(_Spoken, ValueError):
    """A parameter, named ``parameter``, has the impossible value ``value``."""

    def __init__(
        self, parameter: str, fact: str, *advice: Advice, value: Any = None, **facts: Any
    ) -> None:
        super().__init__(parameter, fact, *advice)
        self.parameter, self.value = parameter, value
        self.message = Message("parameter", fact, {"value": value, **facts}, advice, "error")


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of the wrong type."""


def refused(text: str, parameter: str = "path") -> ParameterError:
    """Return a finished text as the error of a parameter, by default the path of a table."""
    return ParameterError(parameter, literal(text))


def message_of(raised: Exception) -> Message:
    """Return a warning or an error as a value, those of other libraries as a note."""
    return raised.message if isinstance(raised, _Spoken) else note(str(raised))


# Rendering.


class _Words(Formatter):
    """Formats figures as prose: shares by ``:%``, counted nouns by ``:#sample``, lists by commas.

    ``{n:#sample has|samples have}`` names both forms of an irregular noun, ``:'`` quotes a list.
    """

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return {"lt": "<", "gt": ">"}.get(str(key)) or super().get_value(key, args, kwargs)

    def format_field(self, value: Any, spec: str) -> str:
        if spec == "%":
            return percent(value)
        if spec.startswith("#"):
            one, _, many = spec[1:].partition("|")
            return f"{value} {one if value == 1 else many or f'{one}s'}"
        if isinstance(value, list | tuple):
            return listed(list(map(repr, value)) if spec == "'" else value)
        return format(value, spec)


def rendered(text: str, say: Say, facts: Mapping[str, Any] | None = None) -> str:
    """Return a text with its tokens as ``say`` renders them, and its figures filled in."""

    def filled(part: str) -> str:
        return part if facts is None else _Words().vformat(part, (), facts)

    between, parts = 0, []
    for token in TOKEN.finditer(text):
        parts.append(filled(text[between : token.start()]))
        parts.append(say(token[1], token[2] and filled(token[2])))
        between = token.end()
    return "".join([*parts, filled(text[between:])])


def literal(value: object) -> str:
    """Return a value as a part of a message's text that stands for itself, whatever is in it."""
    return str(value).translate(LITERAL)


def as_python(name: str, value: str | None) -> str:
    """Return a token as Python code: n_components=3."""
    return name if value is None else f"{name}={value}"


def percent(share: float) -> str:
    """Return a share as text with two digits, 3.2 % or 45 %; 0 % is none, 100 % is all."""
    if 0.995 <= share < 1:
        return "more than 99 %"
    return "less than 0.1 %" if 0 < share < 5e-4 else f"{float(f'{100 * share:.2g}'):g} %"


def listed(names: Sequence[Any], most: int = LISTED) -> str:
    """Return names as text: a, b and c; the first if there are many: a, b, c, d, e and 7 more."""
    rest = len(names) - most
    return in_a_row([*names[:most], f"{rest} more"] if rest > 0 else names) if names else ""


def in_a_row(names: Sequence[Any]) -> str:
    """Return all of the names as text: 2, 3 and 4."""
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last


# Which doubts are shown.

# The codes in order of weight, the gravest first; others follow in the order they were raised.
WEIGHTS = (
    *("few_distinct", "rank_one", "full_rank", "infinite", "max_iter", "empty_clusters"),
    *("swapped", "marks", "totals", "annotation", "identifiers", "times", "two_values"),
    "infeasible",
    "empty_samples",
    *("counts", "batch", "negative_whole", "floor"),
    *("classes_as_variable", "missing_low"),
    *("holds_most", "mostly_missing", "far_mean", "constant_variables", "copies"),
    *("single_samples", "filled_up", "pieces", "empty_variables"),
    *("neighbours_depend", "few_levels", "heavy_tails", "rests_on_one", "correlated_noise"),
    *("repulsion", "unequal_dimensions", "no_component", "most_clusters", "most_components"),
    *("cycle", "refilled"),
)
# Codes that make others superfluous, or whose advice contradicts theirs.
SILENCES = {
    "few_distinct": ("empty_clusters", "infeasible", "single_samples", "copies", "refilled"),
    "rank_one": ("full_rank",),
    "full_rank": ("infeasible", "repulsion", "most_components", "cycle", "refilled"),
    "empty_clusters": ("infeasible", "single_samples", "most_clusters", "cycle", "refilled"),
    "infeasible": ("most_clusters", "most_components", "cycle", "refilled"),
    "far_mean": ("constant_variables", "mean_level"),
    "holds_most": ("unlike_scales",),
    "marks": ("holds_most", "unlike_scales", "infeasible", "heavy_tails", "solid"),
    "two_values": ("infeasible", "refilled", "classes_as_variable", "heavy_tails", "solid"),
    "loud_variable": ("holds_most", "unlike_scales", "most_components"),
    "identifiers": ("holds_most", "far_mean", "unlike_scales", "mean_level"),  # such as a year
    "single_samples": ("infinite", "repulsion", "most_clusters", "refilled"),
    "no_number": ("correlated_noise",),
    "guess": ("correlated_noise",),
    "neighbours_depend": ("few_levels", "heavy_tails", "correlated_noise", "most_components"),
    "few_levels": ("copies",),
    "repulsion": ("most_components",),
    "as_one_group": ("heavy_tails",),
}


def shown(warnings: Sequence[W], most: int = 3) -> list[W]:
    """Return the doubts that users see: the gravest ``most``, none that another makes superfluous.

    They may be warnings or `Message` values. Warnings of other libraries are all shown, after ours.
    """
    coded: dict[str, W] = {}
    for warning in warnings:
        if (code := code_of(warning)) is not None:
            coded.setdefault(code, warning)
    silent = silenced(coded)
    order = sorted(coded, key=lambda c: WEIGHTS.index(c) if c in WEIGHTS else len(WEIGHTS))
    ours = [coded[code] for code in order if code not in silent]
    return [*ours[:most], *(w for w in warnings if code_of(w) is None)]


def silenced(codes: Iterable[str]) -> set[str]:
    """Return the codes, of doubts and of verdicts, that these make superfluous or untrue."""
    return {other for code in codes for other in SILENCES.get(code, ())}


def code_of(warning: Warning | Message) -> str | None:
    """Return the code of a warning; None for a finished text, or one of another library."""
    code = getattr(warning, "code", None)
    return None if code == "note" else code
