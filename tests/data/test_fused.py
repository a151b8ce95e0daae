"""The kernels for GPUs against the plain pass; without a GPU, run by Triton's interpreter."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")
torch = pytest.importorskip("torch")

COMPARISON = """
import itertools
from dataclasses import replace
import numpy as np, torch
from subspaces.data import block_pass, pass_kernels
from subspaces.kernels import _triton
from subspaces.core.array import to_host
from subspaces.data.pass_plan import Pass
from subspaces.data.subspaces import Subspaces

N, K = 500, 4
device = "cuda" if torch.cuda.is_available() else "cpu"
random = np.random.default_rng(0)

def posed(p, R, criterion, affine, by_scatter, only_moved):
    axes = np.linalg.qr(random.normal(size=(K, p, R)))[0]
    spectra = random.uniform(60.0, 500.0, (K, R))
    if R > 1:
        axes[0, :, -1], spectra[0, -1] = 0.0, 1.0
    centres = random.normal(size=(K, p)) * affine
    subspaces = Subspaces(
        centres, axes, spectra, axes.any(axis=1), np.array([max(R - 1, 1), R, R, R]),
        np.full(K, N / K), np.ones(K), 0.3,
    )
    origin = random.normal(size=p) if affine else None
    return Pass(subspaces, criterion, p, N, origin, by_scatter, only_moved, affine=affine)

def answers(rows, labels, plan):
    plan = replace(plan, cache={})
    new, sums = block_pass.assign_and_sum(rows, labels, 0, plan)
    values = [new, sums.objective, sums.moved, sums.sizes, sums.energy, sums.products]
    values += [sums.totals] if plan.affine else []
    if labels is not None:
        given = block_pass.partition_sums(rows, labels, 0, plan)[1]
        values += [given.sizes, given.energy, given.products]
        values += block_pass.influence_and_errors(rows, labels, 0, plan)
    return [np.asarray(to_host(value), dtype=float) for value in values]

plain = pass_kernels.score_kernels
by_kernels = lambda a: _triton if isinstance(a, torch.Tensor) else None
criteria = ("residual", "hat", "influence", "likelihood", "distance")
for criterion, affine, known, moved in itertools.product(criteria, *[(False, True)] * 3):
    for p, R in ((7, 3), (70, 3), (70, -3), (9, 1), (40, -1)):
        R, by_scatter = abs(R), R > 0
        rows = torch.asarray(random.normal(size=(N, p)).astype(np.float32), device=device)
        labels = torch.asarray(random.integers(K, size=N).astype(np.int32), device=device)
        labels = labels if known else None
        plan = posed(p, R, criterion, affine, by_scatter, moved and by_scatter)
        pass_kernels.score_kernels = plain
        expected = answers(rows, labels, plan)
        pass_kernels.score_kernels = by_kernels
        for mine, theirs in zip(answers(rows, labels, plan), expected, strict=True):
            scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-3)
            np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=2e-5 * scale)
"""


def test_kernels_are_the_plain_pass():
    interpreted = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    environment = os.environ | interpreted
    subprocess.run([sys.executable, "-c", COMPARISON], env=environment, check=True, timeout=300)
