"""Lines and branches that the tests reach, in per cent, from the report of `make coverage`.

Exits with 1 where they reach fewer lines than ``LEAST``.
"""

import json
import sys
from pathlib import Path

LEAST = 95.0

totals = json.loads(Path(sys.argv[1]).read_text())["totals"]
lines = 100 * totals["covered_lines"] / totals["num_statements"]
branches = 100 * totals["covered_branches"] / totals["num_branches"]
sys.stdout.write(
    f"lines: {lines:.1f} % of {totals['num_statements']}; "
    f"branches: {branches:.1f} % of {totals['num_branches']}\n"
)
sys.exit(lines < LEAST)
