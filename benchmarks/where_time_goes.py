"""Where the time of a default fit goes: ``PSC(K, n_components=R).fit(X)``, by part of the search.

    python benchmarks/where_time_goes.py

Writes benchmarks/results/where_time_goes.md. One thread; Python's profiler, which makes many short
calls look longer than they are.
"""

import cProfile
import pstats
import warnings

from harness import markdown, save
from speed import DEFAULT_CALLS, union
from threadpoolctl import threadpool_limits

from subspaces import PSC

# What is shown, by the file and the name of a function; each excludes what is listed above it.
PARTS = {
    "probe": ("low_rank.py", "in_few_coordinates"),
    "rows": ("_subspaces.py", "centred_rows"),
    "shape": ("judges.py", "clearest"),
    "near": ("self_expression.py", "local_elastic_net"),
    "OMP": ("graphs.py", "omp"),
    "LSR": ("graphs.py", "lsr"),
    "ADMM": ("graphs.py", "admm"),
    "neighbours": ("graphs.py", "neighbours"),
    "cuts": ("spectral.py", "cut"),
    "flats": ("sampled_subspaces.py", "_candidates"),
    "refits": ("sampled_subspaces.py", "_densest_subspace"),
    "promise": ("in_view.py", "promise"),
    "sweeps": ("search.py", "sweep"),
}


def shares(n, p, k, r):
    """The seconds of a fit, the starts made, and the share of each part in %."""
    X = union(n, p, k, r, 0.1)
    model = PSC(k, n_components=r, random_state=0)
    profile = cProfile.Profile()
    with threadpool_limits(1):
        model.fit(X)
        profile.enable()
        model.fit(X)
        profile.disable()
    found = pstats.Stats(profile).stats
    total = max(times[3] for times in found.values())
    seconds = dict.fromkeys(PARTS, 0.0)
    for (file, _, name), (_, _, _, cumulative, _) in found.items():
        for part, (in_file, function) in PARTS.items():
            if file.endswith(f"/{in_file}") and name == function:
                seconds[part] += cumulative
    seconds["refits"] = max(seconds["refits"] - seconds["flats"], 0.0)
    seconds["the rest"] = max(total - sum(seconds.values()), 0.0)
    return total, len(model.starts_), {part: 100 * own / total for part, own in seconds.items()}


def main():
    warnings.simplefilter("ignore")
    rows = []
    for n, p, k, r, _ in DEFAULT_CALLS:
        total, n_starts, found = shares(n, p, k, r)
        rows.append(
            [f"{n} x {p}", f"{total:.2f}", n_starts, *(f"{own:.0f}" for own in found.values())]
        )
        print(*rows[-1], flush=True)
    save(
        "where_time_goes",
        "# Where the time of a default fit goes\n\n`python benchmarks/where_time_goes.py`: one "
        "thread, under Python's profiler. Per cent of the seconds: the probe for rows of few "
        "directions; the rows and their inner products; the graphs (shape interaction, expression "
        "by near rows, orthogonal matching pursuit, ridge regression, lasso, neighbours by angle) "
        "and their cuts; candidate flats and their refits; what first partitions promise; "
        "sweeps from them. Starts: how many were made before three agreed.\n\n"
        + markdown(["size", "s", "starts", *PARTS, "the rest"], rows),
    )


if __name__ == "__main__":
    main()
