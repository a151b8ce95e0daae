"""What `predict` computes."""

from pathlib import Path
from typing import Any

import numpy as np

import subspaces
from subspaces.diagnostics import ambiguity
from subspaces.estimators import PSC
from subspaces.metrics import adjusted_rand_score, matched_accuracy
from subspaces.preparation import match_variables, prepare
from subspaces.tables import Table
