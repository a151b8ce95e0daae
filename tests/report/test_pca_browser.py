"""The page on one PCA as a reader meets it: in a real browser, on a phone and on a desk."""

import numpy as np
import pandas as pd
import pytest

from subspaces.pages import write_pca
from tests.report.browser import complaints_of, drawn
from tests.report.hostile import NAMES, SCRIPT, VARIABLES, hostile_frame

SECTIONS = {
    "summary": "In short",
    "components": "How many components",
    "scores": "The samples on the components",
    "variables": "Which variables make them",
    "drivers": "Which samples matter most",
    "outliers": "Which samples are outliers",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X, classes = hostile_frame()
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_pca(X, path, n_components=4, classes=classes)


def fits(page):
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return wide[0] <= wide[1]


def test_captions_wrap_and_tables_use_the_width(page):
    place = page.locator("#components .scroll")
    text = place.locator("caption span").bounding_box()
    box = place.bounding_box()
    assert text["x"] + text["width"] <= box["x"] + box["width"]
    if page.viewport_size["width"] > 1000:
        assert place.evaluate("place => place.scrollWidth === place.clientWidth")


def test_every_section_is_seen_and_every_figure_drawn(page):
    for name, heading in SECTIONS.items():
        page.locator(f"#{name} h2", has_text=heading).wait_for()
        assert page.locator(f"nav a[href='#{name}']").inner_text() == heading
    for place in page.locator("[data-figure]").all():
        drawn(page, place.get_attribute("id"))
    assert fits(page)


def test_names_from_the_data_are_text_and_nothing_else(page):
    assert page.locator("main script, main img, main a[href^='http']").count() == 0
    assert set(NAMES) <= set(page.locator("#outliers tbody th").all_text_contents())
    shown = page.locator("#variables tbody th").all_text_contents()
    assert set(VARIABLES) - {VARIABLES[3]} <= set(shown)


def test_pointing_at_a_sample_tells_its_name(page):
    place = drawn(page, "pair-1-2")
    seek = "(figure) => figure.data[1].text.findIndex((text) => text.includes('alert(1)'))"
    index = place.evaluate(seek)
    assert index >= 0
    place.locator(".scatterlayer .trace").nth(1).locator(".point").nth(index).hover(force=True)
    said = place.locator(".hoverlayer .hovertext")
    said.wait_for()
    assert said.text_content().startswith(SCRIPT)


def test_buttons_show_other_pairs(page):
    place = drawn(page, "pair-1-2")
    title = "(figure) => [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text]"
    before = place.evaluate(title)
    assert before[0].startswith("component 1 (")
    buttons = page.locator("[data-show]")
    assert buttons.all_inner_texts() == [
        "1 and 2", "1 and 3", "1 and 4", "2 and 3", "2 and 4", "3 and 4",
    ]  # fmt: skip
    buttons.nth(4).focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "document.getElementById('pair-1-2').layout.xaxis.title.text.startsWith('component 2')"
    )
    assert place.evaluate(title)[1].startswith("component 4 (")
    pressed = [button.get_attribute("aria-pressed") for button in buttons.all()]
    assert pressed == ["false"] * 4 + ["true", "false"]
    page.locator("#theme").click()
    assert place.evaluate(title)[1].startswith("component 4 (")
    page.locator("#theme").click()
    buttons.first.click()
    assert place.evaluate(title) == before


def test_samples_are_searched_and_chosen_by_class(page):
    box = page.locator("#outliers .lookup")
    rows = box.locator("tbody tr:visible")
    assert rows.count() == 45
    box.locator("select").select_option("<i>first</i>")
    assert rows.count() == 20
    box.locator("select").select_option("")
    box.locator("input").fill("alert(1)")
    assert rows.count() == 1
    box.locator("[data-copy]").click()
    box.locator("[role=status]", has_text="1 sample copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == SCRIPT
    box.locator("input").fill("")


def test_light_and_dark_repaint_page_and_figures(page):
    drawn(page, "limits")
    looks = "[getComputedStyle(document.body).backgroundColor, limits.layout.font.color]"
    light = page.evaluate(looks)
    page.locator("#theme").click()
    dark = page.evaluate(looks)
    assert all(one != other for one, other in zip(light, dark, strict=True))
    page.locator("#theme").click()
    assert page.evaluate(looks) == light


def test_without_a_script_the_tables_are_there(browser, file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#outliers tbody th", has_text=SCRIPT).is_visible()
    assert page.locator("[data-show]").first.is_hidden()
    context.close()


def long_names(X):
    samples = [f"a very long name of a sample that goes on and on, {i}" for i in range(len(X))]
    variables = [f"a_variable_name_without_any_space_in_it_{j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, samples, variables)


def tables():
    random = np.random.default_rng(0)
    noise = random.normal(size=(60, 12))
    line = 5 * random.normal(size=(60, 1)) @ random.normal(size=(1, 12)) + noise
    line[3] += 20 * random.normal(size=12)
    return {
        "no component": long_names(noise),
        "one component": long_names(line),
        "no noise": random.normal(size=(30, 2)) @ random.normal(size=(2, 8)),
        "correlated": np.cumsum(random.normal(size=(150, 60)), axis=1),
    }


@pytest.mark.parametrize("name", list(tables()))
def test_odd_tables_fit_the_screen(browser, tmp_path, name):
    path = write_pca(tables()[name], tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 390, "height": 900}, color_scheme="dark")
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    for place in page.locator("[data-figure]").all():
        drawn(page, place.get_attribute("id"))
    assert fits(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#limits .main-svg").first.wait_for()
    assert fits(page)
    assert complaints == []
    page.close()
