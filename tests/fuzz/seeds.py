"""Whole files of every kind that is read, to be damaged."""

import gzip
import io
from pathlib import Path

import numpy as np

from subspaces import PSC, MCtFA, SparseKMeans
from subspaces.datasets import make_subspaces

MODEL, H5AD = ".model.npz", ".h5ad"


def seeds(folder: Path, kind: str | None = None) -> list[tuple[str, bytes]]:
    """The ending and the bytes of each; H5AD, which is slow, where it is asked for."""
    drawn = make_subspaces([9, 9], 5, [1, 1], noise=0.1, offset=0.5, random_state=0)
    if kind == H5AD:
        return _annotated(drawn.data, drawn.target, folder)
    return [
        *_texts(drawn.data, drawn.target),
        *_arrays(drawn.data, drawn.target),
        *_models(drawn.data, folder),
    ]


def _texts(data, target):
    rows = [
        [f"s{i}", *map(str, row), f"c{k}"]
        for i, (row, k) in enumerate(zip(data.round(3).tolist(), target, strict=True))
    ]
    head = ["sample", *(f"g{j}" for j in range(data.shape[1])), "type"]
    comma, tab, semicolon = (
        "\n".join(separator.join(cells) for cells in [head, *rows]) + "\n" for separator in ",\t;"
    )
    bare = "\n".join(",".join(map(str, row)) for row in data.round(3).tolist())
    quoted = '"id","a ""b""","c\nd"\r\n"x",1,2\r\n"y",3,4\r\n"z",5,7\r\n'
    n, p = data.shape
    gct_rows = ["\t".join([f"g{j}", "na", *map(str, data[:, j].round(3))]) for j in range(p)]
    heading = "\t".join(["Name", "Description", *(f"s{i}" for i in range(n))])
    gct = "\n".join(["#1.2", f"{p}\t{n}", heading, *gct_rows]) + "\n"
    marks = " ".join(map(str, target))
    return [
        (".csv", comma.encode()),
        (".csv", bare.encode()),
        (".csv", quoted.encode()),
        (".tsv", tab.encode()),
        (".txt", semicolon.encode("utf-8-sig")),
        (".csv", semicolon.replace(".", ",").encode("utf-16")),
        (".csv", ("Größe\n\n" + comma).encode("latin-1")),
        (".csv.gz", gzip.compress(comma.encode(), mtime=0)),
        (".gct", gct.encode()),
        (".gct.gz", gzip.compress(gct.encode(), mtime=0)),
        (".cls", f"{n} 2 1\n# one two\n{marks}\n".encode()),
    ]


def _arrays(data, target):
    import openpyxl
    import pandas as pd

    book, sheet = openpyxl.Workbook(), io.BytesIO()
    for row in (["title"], [], ["id", "a", "b"], ["x", 1, 2.5], ["y", 3, 4], ["z", 5, 7]):
        book.active.append(row)
    book.save(sheet)
    plain, packed = io.BytesIO(), io.BytesIO()
    np.savez(plain, X=data, y=target, genes=np.array([f"g{j}" for j in range(data.shape[1])]))
    np.savez_compressed(packed, X=data.astype("f4"))
    frame = pd.DataFrame(data, columns=[f"g{j}" for j in range(data.shape[1])])
    frame.index = [f"s{i}" for i in range(len(frame))]
    return [
        (".npz", plain.getvalue()),
        (".npz", packed.getvalue()),
        (".xlsx", sheet.getvalue()),
        (".parquet", frame.assign(type=target).to_parquet()),
    ]


def _models(data, folder):
    models = [
        PSC(2, n_init=2, random_state=0),
        SparseKMeans(2, n_variables=2, random_state=0),
        MCtFA(2, n_init=2, random_state=0),
    ]
    found = []
    for model in models:
        model.fit(data).save(folder / "seed.npz")
        found.append((MODEL, (folder / "seed.npz").read_bytes()))
    return found


def _annotated(data, target, folder):
    import anndata
    import pandas as pd
    from scipy import sparse

    obs = pd.DataFrame({"type": target.astype(str)}, index=[f"s{i}" for i in range(len(data))])
    var = pd.DataFrame(index=[f"g{j}" for j in range(data.shape[1])])
    found = []
    for X in (data, sparse.csr_matrix(data.round(0))):
        anndata.AnnData(X, obs, var).write_h5ad(folder / "seed.h5ad")
        found.append((H5AD, (folder / "seed.h5ad").read_bytes()))
    return found
