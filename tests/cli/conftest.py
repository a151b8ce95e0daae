import json
from dataclasses import dataclass

import pytest

from subspaces.app import cli
from subspaces.datasets import make_subspaces


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    """A command in this process: exit code, stdout, stderr."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def fails(run):
    """A command that ends with one line on stderr and nothing on stdout."""

    def fails(*arguments, code=2):
        ended = run(*arguments)
        assert ended.code == code
        assert ended.out == ""
        lines = [line for line in ended.err.splitlines() if not line.startswith("Read ")]
        assert len(lines) == 1
        assert lines[0].startswith("Error: ")
        return lines[0].removeprefix("Error: ")

    return fails


def write_union(path, *, seed=0, order=slice(None)):
    union = make_subspaces([20, 20], 5, [1, 1], noise=0.02, random_state=0)
    rows = [
        [f"sample {i}", *map(repr, map(float, row)), ("low", "high")[label]]
        for i, (row, label) in enumerate(zip(union.data, union.target, strict=True))
    ]
    top = ["name", *(f"gene {j}" for j in range(5)), "type"]
    path.write_text("\n".join(",".join(line[order]) for line in [top, *rows]) + "\n")
    return path


@pytest.fixture
def union_file(tmp_path):
    return write_union(tmp_path / "data.csv")
