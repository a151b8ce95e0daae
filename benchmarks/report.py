"""How large the report page is and how soon a browser has it open; and its picture for the README.

    python benchmarks/report.py

Needs a Chromium on the PATH. Writes benchmarks/results/report.md and docs/images/report.png.
"""

import io
import os
import tempfile
import time
from pathlib import Path
from shutil import which

import numpy as np
import pandas as pd
from harness import markdown, save
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from subspaces import PSC, KSubspaces
from subspaces.datasets import make_subspaces
from subspaces.diagnostics import stability

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
OPENINGS = 5
# Width of the picture: that of the page, and a margin.
WIDE = 1240


def expression(n_variables=1000):
    """250 samples of three types, each with axes on genes of its own, as a frame with names."""
    random = np.random.default_rng(0)
    blocks = []
    for size in (100, 90, 60):
        axes = np.zeros((n_variables, 2))
        for r in range(2):
            axes[random.choice(n_variables, 40, replace=False), r] = random.normal(size=40)
        axes /= np.linalg.norm(axes, axis=0)
        places = random.normal(size=(size, 2)) * [8, 5]
        blocks.append(places @ axes.T + 0.4 * random.normal(size=(size, n_variables)))
    genes = [f"gene {j:04d}" for j in range(n_variables)]
    names = [f"patient {i:03d}" for i in range(250)]
    return pd.DataFrame(np.vstack(blocks), index=names, columns=genes), np.repeat(
        ["type A", "type B", "type C"], (100, 90, 60)
    )


def pages():
    """Name, data size, model and what its page is told."""
    X, types = expression()
    sparse = PSC(3, n_components=2, n_variables=40, random_state=0)
    sure = stability(sparse, X, n_resamples=5, random_state=0)
    told = {"classes": types, "stability": sure, "title": "Three tumour types (simulated)"}
    yield "expression", X, sparse.fit(X), told
    digits = load_digits()
    model = PSC(10, n_components=9, n_init=3, random_state=0).fit(digits.data)
    yield "digits", digits.data, model, {"classes": digits.target}
    many = make_subspaces([4000, 3000, 3000], 100, [3, 3, 3], noise=0.2, random_state=0)
    model = KSubspaces(3, n_components=3, n_init=2, random_state=0).fit(many.data)
    yield "many samples", many.data, model, {"classes": many.target}


def opening(browser, path):
    """Medians in seconds: first paint, first figure, and the processor time that took."""
    session = browser.new_browser_cdp_session()
    taken = []
    for _ in range(OPENINGS):
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        before = processor_times(session)
        page.goto(path.as_uri())
        page.locator("#overview .main-svg").first.wait_for()
        drawn = page.evaluate("performance.now()")
        after = processor_times(session)
        seen = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        busy = max(after[key] - before.get(key, 0.0) for key in after)
        taken.append((seen / 1000, drawn / 1000, busy))
        page.close()
    return np.median(taken, axis=0)


def processor_times(session):
    """Seconds of processor time that each page of the browser has used."""
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return {one["id"]: one["cpuTime"] for one in found if one["type"] == "renderer"}


def photograph(browser, path):
    """The page down to the end of the heat map, in 256 colours."""
    page = browser.new_page(viewport={"width": WIDE, "height": 1000}, color_scheme="light")
    page.goto(path.as_uri())
    for name in ("overview", "heat-map"):
        page.locator(f"#{name}").scroll_into_view_if_needed()
        page.locator(f"#{name} .main-svg").first.wait_for()
    page.wait_for_timeout(1000)
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    last = page.locator("#heat").bounding_box()
    clip = {"x": 0, "y": 0, "width": WIDE, "height": last["y"] + last["height"] + 12}
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    picture.convert("RGB").quantize(256).save(PICTURE, optimize=True)
    page.close()


def main():
    path = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))))
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=path, args=options)
        for name, X, model, told in pages():
            began = time.perf_counter()
            page = model.report(X, Path(folder) / f"{name}.html", **told)
            written = time.perf_counter() - began
            times = (written, *opening(browser, page))
            if name == "expression":
                photograph(browser, page)
            n, p = np.shape(X)
            size = page.stat().st_size / 1e6
            found = [name, f"{n:,} x {p:,}", str(len(model.subspaces_)), f"{size:.1f}"]
            rows.append([*found, *[f"{seconds:.2f}" for seconds in times]])
        version = browser.version
        browser.close()
    heads = [
        "data",
        "size",
        "clusters",
        "page, MB",
        "written, s",
        "first paint, s",
        "first figure, s",
    ]
    heads.append("of the processor, s")
    save(
        "report",
        "# The report page: how large, how soon open\n\n"
        f"`python benchmarks/report.py`, from a file, medians of {OPENINGS} openings in Chromium "
        f"{version}: the last column is the processor time until the first figure is drawn, the "
        "one before it what the clock said. 2 MB of each page are plotly.js, packed, which also "
        "takes most of the time. Text and tables are there at the first paint.\n\n"
        + markdown(heads, rows),
    )


if __name__ == "__main__":
    main()
