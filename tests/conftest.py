import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# Scikit-learn's array API dispatch asks for it, and scipy reads it when it is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import matplotlib.pyplot as plt
import pytest
from hypothesis import settings

from subspaces.runtime import memory

settings.register_profile("bounded", max_examples=12, deadline=None, derandomize=True)
# Once by hand, over all estimators: pytest tests/properties --hypothesis-profile=by-hand
settings.register_profile("by-hand", max_examples=910, deadline=None)
settings.load_profile("bounded")


@pytest.fixture
def container(monkeypatch, tmp_path):
    """A function after which the process's control group has that many bytes free."""

    def limit(free):
        (tmp_path / "memory.max").write_text(f"{free + 500_000}\n")
        (tmp_path / "memory.current").write_text("700000\n")
        (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 200000\n")
        group = (str(tmp_path), "memory.max", "memory.current")
        monkeypatch.setattr(memory, "GROUPS", (group,))

    return limit


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")
