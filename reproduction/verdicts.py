"""Whether a figure of the paper was reached, and if not, why."""

from dataclasses import dataclass

import numpy as np

PAPER_SETS = 100


@dataclass(frozen=True)
class Estimate:
    """A mean over data sets, its standard error, how many there were, and how many failed."""

    mean: float
    error: float
    count: int
    failed: int = 0

    def __str__(self) -> str:
        if self.count == 0:
            return "failed" if self.failed else "-"
        return f"{self.mean:.3f} ({self.error:.3f})" if self.count > 1 else f"{self.mean:.3f}"


@dataclass(frozen=True)
class Published:
    """A figure of the paper as printed, and what it calls its standard error, if any.

    Over 100 values between 0 and 1 a standard error cannot exceed .05; the paper's reach .45. They
    are standard deviations, so the error of its mean is a tenth of them.
    """

    printed: str
    spread: float | None = None

    @property
    def value(self) -> float:
        """The figure as a number."""
        return float(self.printed)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return 0.0 if self.spread is None else self.spread / np.sqrt(PAPER_SETS)

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit printed."""
        return 0.5 * 10.0 ** -len(self.printed.partition(".")[2])


def estimate(values) -> Estimate:
    """Mean and standard error of the values that are there."""
    every = np.asarray(values, dtype=float)
    given = every[np.isfinite(every)]
    failed = len(every) - len(given)
    if len(given) == 0:
        return Estimate(np.nan, np.nan, 0, failed)
    error = given.std(ddof=1) / np.sqrt(len(given)) if len(given) > 1 else 0.0
    return Estimate(float(given.mean()), float(error), len(given), failed)


def verdict(ours: Estimate, paper: Published) -> str:
    """Whether the figure is exceeded, reached within one standard error, not, or missing."""
    if ours.count == 0:
        return "not" if ours.failed else "missing"
    margin = np.hypot(ours.error, paper.error) + paper.rounding
    if ours.mean > paper.value + margin:
        return "exceeded"
    return "reached" if ours.mean >= paper.value - margin else "not"


def compared(found, at_truth) -> tuple[float, float, int, int]:
    """Mean objective as found and at the truth, and in how many of how many sets it is lower."""
    pairs = np.column_stack([found, at_truth]).astype(float)
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    if len(pairs) == 0:
        return np.nan, np.nan, 0, 0
    lower = int(np.sum(pairs[:, 0] < pairs[:, 1]))
    return float(pairs[:, 0].mean()), float(pairs[:, 1].mean()), lower, len(pairs)


def blame(found, at_truth) -> str:
    """The objective, where it mostly prefers what was found to the truth; the search otherwise."""
    _, _, lower, count = compared(found, at_truth)
    return "objective" if 2 * lower > count else "search"


def beyond_the_limit(limit: Estimate, paper: Published) -> bool:
    """Whether the paper's figure is above what any method could reach on our data."""
    return limit.count > 0 and limit.mean + np.hypot(limit.error, paper.error) < paper.value
