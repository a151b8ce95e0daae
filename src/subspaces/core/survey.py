"""What a first look at many rows tells of all of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Survey:
    """What all rows have in common; surveys of two blocks add.

    largest: of the absolute values; totals (p,): sums of the columns; energy: squared lengths,
    summed; bad: row, column and value of the first that is not finite; n_bad: how many there are.
    """

    largest: float
    totals: Array
    energy: float
    bad: tuple[int, int, float] | None
    n_bad: int

    def __add__(self, other: "Survey") -> "Survey":
        return Survey(
            max(self.largest, other.largest),
            self.totals + other.totals,
            self.energy + other.energy,
            other.bad if self.bad is None else self.bad,
            self.n_bad + other.n_bad,
        )
