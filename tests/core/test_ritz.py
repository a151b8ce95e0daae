"""Axes within a growing span = those of the whole matrix, after few blocks."""

import numpy as np

from subspaces.core.ritz import Span


def test_a_few_blocks_find_the_axes_that_iteration_takes_long_for():
    random = np.random.default_rng(0)
    turn = np.linalg.qr(random.standard_normal((2, 120, 120)))[0]
    energies = np.linspace(1.0, 2.0, 120)[::-1] + np.r_[0.3, 0.2, np.zeros(118)]
    matrices = (turn * energies) @ np.swapaxes(turn, 1, 2)
    first = np.linalg.qr(random.standard_normal((2, 120, 2)))[0]
    span, iterated = Span(first, matrices @ first), first
    for _ in range(20):
        block = span.outside(2)
        np.testing.assert_allclose(np.swapaxes(span.directions, 1, 2) @ block, 0.0, atol=1e-12)
        span = span.grown(block, matrices @ block)
        iterated = np.linalg.qr(matrices @ iterated)[0]
    axes, found = span.axes(2)
    np.testing.assert_allclose(found, np.tile(energies[:2], (2, 1)), rtol=1e-6)
    np.testing.assert_allclose(matrices @ axes, axes * found[:, None, :], atol=2e-3)
    plain = np.linalg.eigvalsh(np.swapaxes(iterated, 1, 2) @ matrices @ iterated)
    assert np.all(energies[:2] - found < 1e-3 * (energies[:2] - plain[:, ::-1]))
