"""All that is said of a table and its results besides verdicts: notes, and doubts as values."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from subspaces.app.cli._say import MOST_WARNINGS, fitting_in, warn
from subspaces.app.cli._words import in_options
from subspaces.messages import Message, literal, shown

# Doubts that a parameter answers, once the user has set it.
ANSWERED = {"unlike_scales": "scale"}

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Said:
    """Notes on how a table was read, and doubts about it and its clusters.

    settled: parameters that the user has set, on which there is no advice. answer: a verdict that
    is printed in any case, and may make doubts superfluous.
    """

    notes: Sequence[Message]
    doubts: Sequence[Message]
    settled: Collection[str] = ()
    answer: Message | None = None

    @property
    def kept(self) -> list[Message]:
        """All of them, each once."""
        return list({str(each): each for each in [*self.notes, *self.unanswered]}.values())

    @property
    def unanswered(self) -> list[Message]:
        """The doubts that nothing the user has set answers."""
        return [each for each in self.doubts if ANSWERED.get(each.code) not in self.settled]

    @property
    def lines(self) -> list[str]:
        """All of them in options, each once."""
        return [str(each) for each in with_options(self.kept, self.settled)]

    @property
    def gravest(self) -> list[Message]:
        """The gravest of the doubts."""
        answers = [] if self.answer is None else [self.answer]
        doubts = [each for each in self.unanswered if each.kind != "note"]
        doubts = shown([*doubts, *answers], MOST_WARNINGS + len(answers))
        return [each for each in doubts if each is not self.answer][:MOST_WARNINGS]

    @property
    def shown(self) -> list[str]:
        """The gravest of the doubts in options, and then the notes."""
        said = {each.code for each in self.gravest}
        notes = [each for each in self.kept if each.kind == "note" and each.code not in said]
        return [str(each) for each in with_options([*self.gravest, *notes], self.settled)]

    def say(self) -> list[str]:
        """Print the gravest on stderr; return the lines of all."""
        for line in fitting_in(self.shown):
            warn(line)
        return self.lines

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Codes, figures and words of all of them, for summary.json."""
        return [
            {
                "code": each.code,
                "kind": each.kind,
                "parameters": {} if each.code == "note" else each.parameters,
                "words": str(each),
            }
            for each in with_options(self.kept, self.settled)
        ]


def with_options(messages: Sequence[M], settled: Collection[str] = ()) -> list[M]:
    """Return messages whose words name options, such as --dims, not parameters; each once."""
    lines = {in_options(each, settled): each for each in messages}
    return [replace(each, fact=literal(line), advice=()) for line, each in lines.items()]


def with_option(message: M, settled: Collection[str] = ()) -> M:
    """Return a message whose words name options."""
    return with_options([message], settled)[0]
