"""The types that more than one module speaks of: arrays, and the strings that options take."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
# The cluster of each row, from 0 up, while a fit is under way.
Labels = NDArray[np.intp]
# The same once it has ended: of 32 bits, as scikit-learn's KMeans has them.
FittedLabels = NDArray[np.signedinteger[Any]]
# Clusters or classes as whole numbers of any type: passes over many rows keep the shortest.
Codes = NDArray[np.integer]
# How many there are of something: dimensions, sizes, pairs.
Counts = NDArray[np.integer]
