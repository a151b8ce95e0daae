"""The numbers of the paper's tables, and ours beside them."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from reproduction.harness import Study, read
from reproduction.verdicts import Estimate, Published, estimate


def load_published() -> dict[tuple[str, str, str, str], Published]:
    """By table, measure, row and column."""
    with (Path(__file__).parent / "published.csv").open(encoding="utf-8") as file:
        return {
            (line["table"], line["measure"], line["row"], line["column"]): Published(
                line["value"], float(line["spread"]) if line["spread"] else None
            )
            for line in csv.DictReader(file)
        }


class Results:
    """The cells of a study, gathered over the seeds."""

    def __init__(self, study: Study, folder: Path) -> None:
        self.study = study
        self.lines = list(read(study, folder).values())
        self._groups = defaultdict(list)
        for line in self.lines:
            self._groups[line["row"], line["variant"], line["column"]].append(line)

    def values(self, row: str, variant: str, column: str, measure: str):
        """One number a seed; not a number where the method failed."""
        lines = self._groups.get((row, variant, column), [])
        return np.array([float(line[measure] or "nan") for line in lines])

    def estimate(self, row: str, variant: str, column: str, measure: str) -> Estimate:
        """Mean and standard error over the seeds."""
        return estimate(self.values(row, variant, column, measure))

    def failure(self, row: str, variant: str, column: str) -> str:
        """What the method said that failed, if it did."""
        lines = self._groups.get((row, variant, column), [])
        return next((line["error"] for line in lines if line["error"]), "")

    @property
    def columns(self) -> set[str]:
        """The columns that have any cell."""
        return {line["column"] for line in self.lines}

    @property
    def seeds_a_cell(self) -> list[int]:
        """How many seeds each cell has, ascending."""
        return sorted(len(lines) for lines in self._groups.values())

    @property
    def seconds(self) -> float:
        """Processor time of all cells."""
        return sum(float(line["seconds"]) for line in self.lines)

    @property
    def failures(self) -> list[str]:
        """What the methods said that failed."""
        return [line["error"] for line in self.lines if line["error"]]
