"""Each cell of the paper's tables beside ours: paper, as printed, defaults, limit, verdict, why."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from reproduction import expression, nonsparse, selection, sparse
from reproduction.published import Results
from reproduction.verdicts import Estimate, Published, beyond_the_limit, blame, estimate, verdict

NOTHING = Estimate(np.nan, np.nan, 0)
CERTAIN = Estimate(1.0, 0.0, 1)
SELECTION = {
    "SOD": ("criteria", "sod", "icl"),
    "PRESS": ("criteria", "press", "icl"),
    "PRESS, R_k too": ("joint", "joint", "icl"),
}


@dataclass(frozen=True)
class Line:
    """One cell of a table of the paper."""

    measure: str
    row: str
    column: str
    paper: Published
    printed: Estimate
    defaults: Estimate
    limit: Estimate = NOTHING
    why_printed: str = ""
    why_defaults: str = ""

    @property
    def verdicts(self) -> tuple[str, str]:
        """Of the algorithm as printed, and of the library's defaults."""
        return verdict(self.printed, self.paper), verdict(self.defaults, self.paper)

    @property
    def judged(self) -> list[str]:
        """The verdicts, with the reason where the figure was not reached."""
        reasons = (self.why_printed, self.why_defaults)
        return [
            f"**not**: {why}" if word == "not" else word
            for word, why in zip(self.verdicts, reasons, strict=True)
        ]


def simulated(results: Results, rows, published, measure) -> list[Line]:
    """The lines of a simulation table; `sparse` has the Bayes classifier, the other is exact."""
    name, lines = results.study.name, []
    for row in rows:
        for column in "abcde":
            paper = published[name, measure, row, column]
            limit = (
                CERTAIN if name == "nonsparse" else results.estimate("", "Bayes", column, measure)
            )
            reasons = [
                _why_simulated(results, row, variant, column, paper, limit)
                for variant in ("as printed", "defaults")
            ]
            ours = [results.estimate(row, v, column, measure) for v in ("as printed", "defaults")]
            lines.append(Line(measure, row, column, paper, *ours, limit, *reasons))
    return lines


def _why_simulated(results, row, variant, column, paper, limit) -> str:
    if beyond_the_limit(limit, paper):
        return "limit"
    if row.startswith("PSC"):
        return blame(*objectives(results, row, variant, column))
    return "generator" if "K-means" in row else "settings"


def objectives(results, row, variant, column):
    """The objective as found and at the truth, one of each a seed."""
    return [results.values(row, variant, column, m) for m in ("objective", "at_truth")]


def expressed(results: Results, column, published, measure) -> list[Line]:
    """The lines of one expression set; without its file, the paper's numbers alone."""
    lines = []
    for row in expression.ROWS:
        paper = published["expression", measure, row, column]
        ours = [results.estimate(row, v, column, measure) for v in expression.VARIANTS]
        limit = results.estimate(row, "from the truth", column, measure)
        reasons = [_why_expressed(results, row, v, column) for v in expression.VARIANTS]
        lines.append(Line(measure, row, column, paper, *ours, limit, *reasons))
    return lines


def _why_expressed(results, row, variant, column) -> str:
    if results.failure(row, variant, column):
        return "fails"
    if row.startswith("PSC"):
        return blame(*objectives(results, row, variant, column))
    return "preparation"


def selected(results: Results, published) -> list[Line]:
    """The lines of the table on choosing K: the share of data sets with the right one."""
    lines = []
    for row, (variant, printed, default) in SELECTION.items():
        for column in "abcde":
            paper = published["selection", "share", row, column]
            spread = np.sqrt(paper.value * (1 - paper.value))
            paper = Published(paper.printed, float(spread))
            chosen = [
                results.values("", variant, column, printed),
                results.values("", "criteria", column, default),
            ]
            ours = [share(values, selection.TRUE[column]) for values in chosen]
            reasons = [usual(values) for values in chosen]
            lines.append(Line("share", row, column, paper, *ours, NOTHING, *reasons))
    return lines


def share(chosen, true) -> Estimate:
    """How often the right number was chosen."""
    return estimate((chosen == true)[np.isfinite(chosen)])


def usual(chosen) -> str:
    """The number chosen most often."""
    counted = Counter(int(k) for k in chosen if np.isfinite(k))
    if not counted:
        return ""
    k, times = counted.most_common(1)[0]
    return f"K = {k} in {times} of {sum(counted.values())}"


def nearer(chosen, paper, true) -> str:
    """Whether we come as near the number of classes as the paper, in the mean over the seeds."""
    if not np.isfinite(chosen).any():
        return "missing"
    gap = np.nanmean(np.abs(chosen - true)) - abs(paper - true)
    return "exceeded" if gap < 0 else "reached" if gap == 0 else "not"


def claims(simulated, choosing, results) -> list[tuple[str, bool | None, str]]:
    """What was to be shown, whether it was (None: not measured), and the figures."""
    psc = [x for m in ("rand", "ari") for x in simulated["nonsparse", m] if x.row == "PSC"]
    below = [f"{x.measure} {x.column}" for x in psc if x.verdicts[1] == "not"]
    ten = {x.column: x for x in simulated["sparse", "ari"] if x.row == "PSC, 10 variables"}
    refined = {c: results.estimate(x.row, "refined", c, "ari") for c, x in ten.items()}
    gaps = {c: x.limit.mean - refined[c].mean for c, x in ten.items()}
    shares = [x for x in choosing if x.row == "PRESS"]
    kept = [x for x in shares if x.verdicts[1] in ("reached", "exceeded")]
    found = [
        (
            "noise-free, every PSC cell at or above the paper's within one standard error",
            _measured(psc, not below),
            f"{len(psc) - len(below)} of {len(psc)}",
        ),
        (
            "sparse, PSC with ten variables at or above the paper's adjusted Rand index in a, d, e",
            _measured(ten.values(), all(ten[c].defaults.mean >= ten[c].paper.value for c in "ade")),
            _beside([ten[c] for c in "ade"]),
        ),
        (
            "sparse, the same within .03 of the paper's in c",
            _measured([ten["c"]], ten["c"].defaults.mean >= ten["c"].paper.value - 0.03),
            _beside([ten["c"]]),
        ),
        (
            'sparse, `refine="ppca"` within .03 of the Bayes classifier in all five',
            _measured(ten.values(), max(gaps.values()) <= 0.03),
            ", ".join(f"{c} {refined[c]} for {ten[c].limit}" for c in ten),
        ),
        (
            "choosing K, at or above the paper's PRESS row within one standard error in four",
            _measured(shares, len(kept) >= 4),
            _beside(shares),
        ),
    ]
    return found


def _measured(lines, so) -> bool | None:
    return bool(so) if all(line.defaults.count for line in lines) else None


def _beside(lines) -> str:
    return ", ".join(f"{x.column} {x.defaults} for {x.paper.printed}" for x in lines)


ROWS = {"nonsparse": nonsparse.ROWS, "sparse": sparse.ROWS}
