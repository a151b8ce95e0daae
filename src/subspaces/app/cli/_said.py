"""All that is said of a fit besides its verdicts: notes on the table, and doubts as values."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from subspaces.app.cli._say import MOST_WARNINGS
from subspaces.app.cli._words import in_options
from subspaces.messages import Message, note, shown


@dataclass(frozen=True)
class Said:
    """Notes on how a table was read, and doubts about it and its clusters.

    settled: parameters that the user has set, on which there is no advice.
    """

    notes: Sequence[str]
    doubts: Sequence[Message]
    settled: Collection[str] = ()

    @property
    def kept(self) -> list[Message]:
        """All of them as values, the notes as such."""
        notes = [replace(note(each), kind="note") for each in self.notes]
        return list({str(each): each for each in [*notes, *self.doubts]}.values())

    @property
    def lines(self) -> list[str]:
        """All of them in options, each once."""
        return list(dict.fromkeys(in_options(each, self.settled) for each in self.kept))

    @property
    def shown(self) -> list[str]:
        """The gravest of the doubts in options; notes follow if there are few."""
        notes = [each for each in self.kept if each.kind == "note"]
        gravest = [*shown(self.doubts, MOST_WARNINGS), *notes]
        lines = dict.fromkeys(in_options(each, self.settled) for each in gravest)
        return list(lines)[:MOST_WARNINGS]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Codes, figures and words of all of them, for summary.json."""
        return [
            {
                "code": each.code,
                "kind": each.kind,
                "parameters": {} if each.code == "note" else each.parameters,
                "words": in_options(each, self.settled),
            }
            for each in self.kept
        ]


def in_words_of_options(messages: Sequence[Message], settled: Collection[str]) -> list[Message]:
    """Return messages as finished texts that name options, such as --dims, not parameters."""
    lines = {in_options(each, settled): each.kind for each in messages}
    return [replace(note(line), kind=kind) for line, kind in lines.items()]
