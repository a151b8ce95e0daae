"""Settings of the documentation site; `make docs` builds it into docs/_build/html, offline."""

import inspect
import os
import re
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx_gallery.sorting import ExplicitOrder

import subspaces

DOCS = Path(__file__).parent
ROOT = DOCS.parent
DESCRIBED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = DESCRIBED["urls"]["Source"]

project = "subspaces"
author = "The subspaces developers"
version = release = DESCRIBED["version"]
project_copyright = author
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# docs/develop is for who works on the library, and read in the repository.
exclude_patterns = ["_build", "develop", "gallery/**.ipynb", "gallery/**.md5", "tutorials/*.md5"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = True
# What scikit-learn's and matplotlib's own sites document.
nitpick_ignore_regex = [("py:.*", r"(set_output|set_callbacks|.*sklearn.*|.*scanpy.*)")]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Parameters: each documented, none that is not there, in order.
numpydoc_validation_checks = {"PR01", "PR02", "PR03"}
numpydoc_validation_exclude = {  # values, which have attributes, and a Pipeline by another name
    r"\.(Comparison|Facts|IsReal|LabelConfidence|Markers|MeansOrDirections|Press|Recipe)$",
    r"\.(Record|Selection|Stability|Step|Subspace)$",
    r"\.(PCA(Components|Influence|Outliers)|Samples)(\.\w+)?$",
    r"^subspaces\.messages\.",
}

# A button copies code without its prompts and without what it prints.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

GALLERIES = ("../examples", "../tutorials")
sphinx_gallery_conf = {
    "examples_dirs": list(GALLERIES),
    "gallery_dirs": ["gallery", "tutorials"],
    "filename_pattern": r"\.py$",
    "nested_sections": False,
    "subsection_order": ExplicitOrder(
        [f"../examples/{group}" for group in ("clusters", "samples_and_variables", "pca")]
    ),
    "within_subsection_order": ExplicitOrder(
        [
            "k_means_or_subspaces.py",
            "choose_the_number_of_clusters.py",
            "all_samples_in_one_picture.py",
            "cluster_and_predict.py",
            "compare_methods.py",
            "genes_of_each_cluster.py",
            "samples_in_no_cluster.py",
            "samples_of_influence.py",
            "pca_loadings.py",
            "pca_outliers.py",
            "pca_influence.py",
            "clusters_of_digits.py",
            "when_k_means_is_right.py",
            "everything_automatic.py",
            "gene_expression.py",
            "single_cells.py",
            "check_a_pca.py",
            "*",
        ]
    ),
    "backreferences_dir": "api/backreferences",
    "doc_module": ("subspaces",),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "run_stale_examples": True,
    "abort_on_example_error": True,
    "notebook_images": False,
    "capture_repr": (),
}

html_theme = "pydata_sphinx_theme"
html_title = "subspaces"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_search_scorer = str(DOCS / "_static" / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"subspaces {version}"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [{"name": "Repository", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}

LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)\s]*)?\)")
# A page of the repository's root that is a page of the site as well.
INCLUDED = re.compile(r"```\{include\} (\S+)\n```\n")
# A page that a docstring cites: its title, and the address of the site.
CITED = re.compile(
    rf"\"([^\"]+)\",?\s+{re.escape(DESCRIBED['urls']['Documentation'])}(?:,(?=\s+[a-z]))?"
)
# What a docstring names in a private module, which its page shows without the module.
PRIVATE = re.compile(r"`((?:\w+\.)+_\w+\.(\w+))`")


def relink(app, docname, source):
    """Point links of a page to what is not on the site: at examples' pages, else the repository."""
    text = INCLUDED.sub(lambda match: (DOCS / "about" / match[1]).read_text("utf-8"), source[0])
    folder = ROOT if text != source[0] else Path(app.env.doc2path(docname)).parent

    def moved(match):
        target, heading = match[1], match[2] or ""
        path = Path(os.path.normpath(folder / target))
        if path.suffix == ".py" and ROOT / "examples" in path.parents:
            return f"](/gallery/{path.relative_to(ROOT / 'examples').with_suffix('.rst')})"
        if path.suffix == ".py" and ROOT / "tutorials" in path.parents:
            return f"](/tutorials/{path.stem}.rst)"
        if path.suffix == ".png":
            return match[0]
        if DOCS not in path.parents or DOCS / "develop" in path.parents:
            kind = "blob" if path.is_file() else "tree"
            return f"]({REPOSITORY}/{kind}/main/{path.relative_to(ROOT)}{heading})"
        return match[0]

    source[0] = LINK.sub(moved, text)
    # A doctest ends with an empty line; a block of code on a page need not.
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def link_pages(app, what, name, obj, options, lines):
    """Make the pages that a docstring cites by their title links to them."""
    text = CITED.sub(lambda match: cited(" ".join(match[1].split())), "\n".join(lines))
    text = PRIVATE.sub(r":obj:`\2 <\1>`", text)
    lines[:] = text.split("\n")


def cited(title):
    """Return a link to the page of a title."""
    return f":doc:`{title} </{TITLES[title]}>`"


TITLES = {
    path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# "): str(
        path.relative_to(DOCS).with_suffix("")
    )
    for path in DOCS.glob("[!_]*/*.md")
    if path.parent.name != "develop"
}


def link_guide(app, what, name, obj, options, lines):
    """Name the guide's pages that use a public name most, below its first paragraph."""
    short = name.removeprefix("subspaces.")
    called = re.compile(rf"\b{re.escape(short.rpartition('.')[2])}(?=[(`])")
    uses = {page: len(called.findall(text)) for page, text in GUIDE.items()}
    most = sorted((page for page in uses if uses[page]), key=uses.get, reverse=True)[:3]
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if short in NAMES and most and "" in lines[first:]:
        links = ", ".join(f":doc:`/{page}`" for page in most)
        below = lines.index("", first)
        lines[below:below] = ["", f"Read more in the guide: {links}."]


def linkcode_resolve(domain, info):
    """Return the address of the source of what a page documents."""
    value = sys.modules[info["module"]]
    for name in info["fullname"].split("."):
        value = getattr(value, name, None)
    value = getattr(value, "fget", value)
    if not inspect.isclass(value) and not inspect.isfunction(value):
        return None
    value = inspect.unwrap(value)
    path, (code, first) = inspect.getsourcefile(value), inspect.getsourcelines(value)
    inside = str(path).rpartition("/subspaces/")[2]
    return f"{REPOSITORY}/blob/main/src/subspaces/{inside}#L{first}-L{first + len(code) - 1}"


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


GUIDE = {f"guide/{path.stem}": path.read_text("utf-8") for path in (DOCS / "guide").glob("*.md")}
# What a page may name as code: `PSC`, `plots.overview`, or a call of either.
NAMED = re.compile(r"([\w.]+)(\(.*\))?", re.DOTALL)
LINKED = ("quickstart", "guide/", "about/")
NAMES = {*subspaces.__all__} | {
    f"{module}.{name}"
    for module in subspaces.__all__
    for name in getattr(getattr(subspaces, module), "__all__", [])
}


def keep_percentages(app, doctree):
    """Keep a number and its % on one line."""
    for text in list(doctree.findall(nodes.Text)):
        if " %" in text and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(text.replace(" %", "\N{NO-BREAK SPACE}%")))


def link_names(app, doctree):
    """Make the public names that a page writes as code links to their own pages."""
    for code in list(doctree.findall(nodes.literal)):
        found = NAMED.fullmatch(code.astext())
        plain = not isinstance(code.parent, nodes.reference | nodes.title | pending_xref)
        if found and found[1] in NAMES and plain and app.env.docname.startswith(LINKED):
            link = {"refdomain": "py", "reftype": "obj", "refdoc": app.env.docname}
            code.replace_self(pending_xref("", code.deepcopy(), reftarget=found[1], **link))


def setup(app):
    """Connect the above."""
    app.connect("doctree-read", keep_percentages)
    app.connect("doctree-read", link_names)
    app.connect("source-read", relink)
    app.connect("missing-reference", resolve_short)
    app.connect("autodoc-process-docstring", link_pages, priority=1)
    app.connect("autodoc-process-docstring", link_guide, priority=900)
    app.connect("autodoc-skip-member", skip_foreign)
