"""What the page says between its tables."""

HEAD = """# The paper, reproduced

B. McWilliams and G. Montana, "Subspace clustering of high-dimensional data: a predictive approach", Data Mining and
Knowledge Discovery 28 (2014) 736-772: every table and figure, cell by cell. `make reproduce` measures ten data sets a
cell, `make reproduce FULL=1` a hundred, and both write this page; each script is in `reproduction/`.

- **paper**: the number as published. What the paper calls standard errors are standard deviations: over 100 values
  between 0 and 1 a standard error is at most .05, and it has .45. So the error of its mean is taken as a tenth of them.
- **as printed**: for PSC the printed algorithm: predictive influence on all variables, ten random first partitions, the
  lowest objective. For the others the plainest form: one random start for K-means, K-subspaces, sparse K-means and MCtFA, GPCA
  without a polish, SCC with affine flats, MCtFA with as many factors as the largest dimension.
- **defaults**: the library with nothing set but what the cell fixes: K, dimensions, number of variables.
- **limit**: what no method can beat on these data. Noise-free: subspaces meet in a set of measure zero, so 1. Sparse: the
  Bayes classifier with the true parameters. Expression: where the default's sweeps end that start from the truth.
- **verdict**: *exceeded* and *not* if the difference is more than one standard error of it, and half a unit of the paper's last digit;
  *reached* in between. Means with their standard errors in parentheses. Objectives: lower is better, for the
  default of PSC what it compares its starts by.
"""
MISSING = (
    "The file could not be had, so no cell can be compared. The loader is there: `normal_tissues.npz` with `X` and `y`, or "
    "`normal_tissues.gct` beside `normal_tissues.cls`, in `gene_expression/` of the data folder is run like the others."
)
SECTIONS = {
    "head": HEAD.strip(),
    "summary": "## In short",
    "press": """## Figure: the error of the closed form of PRESS

One PCA model, P = 500, three axes. Relative error of PRESS against leaving out, mean and standard error;
*exact* is the largest relative error of any sample of `pca_press(X, 3)`, which also takes one decomposition. The dashed line is the
square of the paper's rate, through the first point. The time of leaving out grows faster than linearly in N.""",
    "illustrations": """## Figure: four illustrations

Seed 0; marker and colour say the cluster. The table is over all data sets.""",
    "nonsparse": """## Tables: noise-free scenarios

Points U(-1, 1) in subspaces through the origin, 100 a cluster. SCC and SLBF, which have one dimension for all clusters, get the
largest; MCtFA by default as many factors as all clusters together have.""",
    "sparse": """## Tables: sparse scenarios

Ten of 200 variables a loading, loadings and scores N(0, 1), noise of standard deviation 0.5. The paper says variance 0.5,
with which its own figures would beat the Bayes classifier ([errata](errata.md)).""",
    "selection": """## Table: choosing the number of clusters

Sparse scenarios, ten variables, K from 1 to 6; share with the right K. *As printed*: SOD and PRESS, the clusters' means averaged, on the
library's fits with one dimension for all clusters (1 in a, 2 in b, c, d, 3 in e); with R_k, the dimensions chosen anew at
every sweep. *Defaults*: `select_n_clusters` (`criterion="free"`), and with R_k left open the leave-one-out likelihood. Five starts a fit,
two where R_k are chosen at every sweep.""",
    "expression": """## Tables: expression data

*As printed* takes the intensities as they are: the paper does not say how it prepared them, and these come nearest to its K-means and
K-subspaces rows. K-subspaces, sparse K-means and MCtFA have 50 restarts, as in the paper. *Defaults*: `recipes.expression(K, n_components=R,
n_variables=m)` for PSC; for the others the library's settings after `recipes.ExpressionScaler`. Standard errors are over seeds of the
starts, not over data sets.""",
    "recipe": "What the library recommends for such data, whatever R and the number of variables, is "
    "the [recipe](recipes.md) with R = 0:",
    "expression_clusters": """## Table: the number of clusters in the expression data

R = 1, ten variables, K from 1 to 8; one number a seed of the starts. *Reached*: as near the number of classes as the paper.""",
    "ending": """## How it was measured

Seeds of data and method are 0, 1, 2, ...; for the expression sets, where there is one data set, 0, 10, 20, ... Every cell is a line of
`reproduction/results/*.csv` with its seed and its processor seconds.""",
}
