"""Settings of the documentation site; `make docs` builds it into docs/_build/html, offline."""

import re
import shutil
from importlib.metadata import version as version_of
from pathlib import Path

ROOT = Path(__file__).parents[1]

project = "subspaces"
author = "The subspaces developers"
version = release = version_of("subspaces")
project_copyright = author
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.md5"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = True
# What scikit-learn's and matplotlib's own sites document.
nitpick_ignore_regex = [("py:.*", r"(set_output|set_callbacks|.*sklearn.*|.*scanpy.*)")]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Parameters: each documented, none that is not there, in order.
numpydoc_validation_checks = {"PR01", "PR02", "PR03"}
numpydoc_validation_exclude = {  # values, which have attributes, and a Pipeline by another name
    r"\.(Comparison|Facts|Markers|MeansOrDirections|PCA(Components|Influence|Outliers)|Press|Recipe|Record|Samples|Selection|Stability|Step|Subspace)$"
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "run_stale_examples": True,
    "abort_on_example_error": True,
    "notebook_images": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "subspaces"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "subspaces"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "quickstart": [], "methods": []}
html_context = {"default_mode": "auto"}

# Pages that are read on a code host too link to files of the repository; here they are pages.
LINKS = (
    (r"\]\((?:\.\./)+benchmarks/results/(\w+)\.md\)", r"](/measurements/\1.md)"),
    (r"\]\((?:\.\./)+examples/(\w+)\.py\)", r"](/gallery/\1.rst)"),
    # A doctest ends with an empty line; a block of code on a page need not.
    (r"\n\n```\n", r"\n```\n"),
)

MEASUREMENTS = """# What was measured

Tables as the scripts in `benchmarks/` printed them; each names its command.

```{toctree}
:maxdepth: 1
:glob:

*
```
"""


def relink(app, docname, source):
    """Point links to tables and examples of the repository at their pages."""
    for pattern, replacement in LINKS:
        source[0] = re.sub(pattern, replacement, source[0])


def copy_measurements(app):
    """Take the tables that the benchmarks have written into the site."""
    target = Path(app.srcdir) / "measurements"
    target.mkdir(exist_ok=True)
    for page in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        shutil.copyfile(page, target / page.name)
    (target / "index.md").write_text(MEASUREMENTS, encoding="utf-8")


def skip_foreign(app, what, name, obj, skip, options):
    """Leave what is inherited from scikit-learn to its own documentation."""
    function = getattr(obj, "fget", obj)  # of a property
    module = getattr(function, "__module__", None) or ""
    foreign = what == "class" and not module.startswith("subspaces") and callable(function)
    # The one estimator that has no subspaces has these methods no more than an instance of it.
    owner = app.env.temp_data.get("autodoc:class")
    without = owner == "SparseKMeans" and name in ("project", "reconstruct")
    return skip or foreign or without


def resolve_short(app, env, node, contnode):
    """Find what a docstring of one module names of another: `PSC` for subspaces.PSC."""
    if node.get("reftype") != "obj":
        return None
    whole = f"subspaces.{node['reftarget']}"
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", whole, node, contnode)


def setup(app):
    """Connect the above."""
    app.connect("builder-inited", copy_measurements)
    app.connect("source-read", relink)
    app.connect("missing-reference", resolve_short)
    app.connect("autodoc-skip-member", skip_foreign)
