"""Words as nobody should type them."""

import numpy as np
from typer.main import get_command

from subspaces.app.cli import app

COMMANDS = (
    "fit",
    "predict",
    "report",
    "select",
    "influence",
    "pca",
    "simulate",
    "compare",
    "foo",
    "--help",
)
OPTIONS = (
    *sorted(
        {
            word
            for command in get_command(app).commands.values()
            for parameter in command.params
            for word in (*parameter.opts, *parameter.secondary_opts)
            if word.startswith("--")
        }
    ),
    "--version",
    "--",
    "-x",
)
WORDS = (
    "0", "1", "2", "3", "-1", "999999999", "1e9", "2,2", "1,,2", ",", "auto", "nan", "inf", "",
    " ", "rows", "columns", "type", "sample", "PSC", "KMeans", "GPCA", "psc", "expression", "loo",
    "d", "a", "é\u202e", "a\nb", "\x1b[31m", "=1+1", "--clusters", "x" * 300, "9" * 400, "%s",
    "{}", "$HOME", "\ud800",
)  # fmt: skip


def words(random: np.random.Generator, paths: list[str]) -> list[str]:
    """A command line: mostly one that could work, with some words exchanged."""
    drawn = lambda choices: choices[int(random.integers(len(choices)))]  # noqa: E731
    line = [drawn(COMMANDS), drawn(paths)]
    if random.random() < 0.6:
        line += ["--clusters", drawn(("1", "2", "auto"))]
    for _ in range(int(random.integers(0, 5))):
        line.append(drawn(OPTIONS))
        if random.random() < 0.8:
            line.append(drawn((*WORDS, *paths)))
    if random.random() < 0.3:
        line.insert(int(random.integers(len(line))), drawn((*WORDS, *paths)))
    return line
