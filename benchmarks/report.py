"""How large the report page is and how soon a browser has it open; and its picture for the README.

    python benchmarks/report.py

Needs a Chromium on the PATH. Writes benchmarks/results/report.md and docs/images/report.png.
"""

import io
import json
import os
import subprocess
import tempfile
import time
from contextlib import suppress
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
OPENINGS = 3
# How long an opening is recorded, and what of it; a task of the thread that answers the reader.
SECONDS = 12
RECORDED = "toplevel,loading,blink.user_timing"
TASK = "ThreadControllerImpl::RunTask"
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


def opening(chromium, path):
    """Medians of `measured` over several openings."""
    times = [measured(trace_of(chromium, path)) for _ in range(OPENINGS)]
    return {name: np.median([each[name] for each in times]) for name in times[0]}


def trace_of(chromium, path):
    """What the browser recorded as it opened the page.

    No inspector is attached: with one, each error that plotly catches costs a tenth of a second.
    """
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    options += ["--disable-background-networking", "--window-size=1200,1000"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        trace = Path(folder) / "trace.json"
        options += [f"--user-data-dir={folder}/user", "--remote-debugging-port=0"]
        options += [f"--trace-startup={RECORDED}", "--trace-startup-format=json"]
        options += [f"--trace-startup-duration={SECONDS}", f"--trace-startup-file={trace}"]
        run = subprocess.Popen([chromium, *options, path.as_uri()], stderr=subprocess.DEVNULL)
        try:
            time.sleep(SECONDS)
            while True:
                time.sleep(0.5)
                with suppress(FileNotFoundError, json.JSONDecodeError):
                    return json.loads(trace.read_text())["traceEvents"]
        finally:
            run.terminate()
            run.wait()


def measured(events):
    """Seconds until there is something to read, the whole first screen, and a picture that answers.

    As the clock has it, and (with "busy") as processor time of all threads of the page; "pause" is
    the longest time in which the page cannot answer.
    """
    events = sorted((e for e in events if "ts" in e), key=lambda e: e["ts"])
    first = next(e for e in events if e["name"] == "drawn overview")
    events = [e for e in events if e["pid"] == first["pid"]]
    named = {e["name"]: e["ts"] for e in events if e["ts"] <= first["ts"]}
    began = named["navigationStart"]
    own = [e for e in events if e["ts"] >= began and "tts" in e]
    ends = {
        "seen": named["firstContentfulPaint"],
        "whole": named["domContentLoadedEventEnd"],
        "first": first["ts"],
    }
    found = {name: (end - began) / 1e6 for name, end in ends.items()}
    for name, end in ends.items():
        threads = {}
        for e in own:
            if e["ts"] <= end:
                low, high = threads.get(e["tid"], (e["tts"], 0))
                threads[e["tid"]] = min(low, e["tts"]), max(high, e["tts"] + e.get("tdur", 0))
        found[f"busy {name}"] = sum(high - low for low, high in threads.values()) / 1e6
    tasks = [e.get("dur", 0) for e in own if e["name"] == TASK and e["ts"] < first["ts"]]
    return found | {"pause": max(tasks) / 1e6}


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
            if name == "expression":
                photograph(browser, page)
            n, p = np.shape(X)
            size = page.stat().st_size / 1e6
            found = [name, f"{n:,} x {p:,}", str(len(model.subspaces_)), f"{size:.1f}"]
            times = opening(path, page)
            clock = [times[key] for key in ("seen", "whole", "first", "pause")]
            busy = [times[f"busy {key}"] for key in ("whole", "first")]
            shown = [written, *clock, *busy]
            rows.append([*found, *[f"{seconds:.2f}" for seconds in shown]])
        version = browser.version
        browser.close()
    heads = ["data", "size", "clusters", "page, MB", "written, s"]
    heads += ["first words, s", "first screen, s", "picture answers, s", "longest pause, s"]
    heads += ["processor: first screen, s", "processor: picture, s"]
    save(
        "report",
        "# The report page: how large, how soon open\n\n"
        f"`python benchmarks/report.py`, from a file, medians of {OPENINGS} openings in Chromium "
        f"{version} without an inspector. At the first screen all words and tables and the still "
        "picture of all samples are there. Later plotly has started and the picture answers to the "
        "pointer. The longest pause is of that time. The last two columns are processor time of "
        "all threads of the page. The other figures are drawn as they come into view. 2 MB of each "
        "page are plotly.js, packed.\n\n" + markdown(heads, rows),
    )


if __name__ == "__main__":
    main()
