"""The page as a reader meets it: opened from a file, in a real browser, on a phone and a desk."""

from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from subspaces import PSC
from subspaces.messages import note
from tests.report.browser import drawn
from tests.report.hostile import NAMES, SCRIPT, TITLE, VARIABLES, hostile_fit

SECTIONS = {
    "summary": "In short",
    "heat": "What tells the clusters apart",
    "clusters": "The clusters",
    "agreement": "Known classes",
    "choice": "What was chosen",
    "samples": "The samples",
    "markers": "Markers",
    "variables": "The variables",
    "repeat": "How to repeat this",
    "way": "How the search went",
}


@pytest.fixture(scope="module")
def fitted():
    return hostile_fit()


@pytest.fixture(scope="module")
def file(fitted, tmp_path_factory):
    X, model, options = fitted
    return model.report(X, tmp_path_factory.mktemp("page") / "report.html", **options)


def test_every_section_is_seen_and_every_figure_drawn(page):
    for name, heading in SECTIONS.items():
        page.locator(f"#{name} h2", has_text=heading).wait_for()
        assert page.locator(f"nav a[href='#{name}']").inner_text() == heading
    folded = page.locator("#way details")
    assert folded.get_attribute("open") is None
    page.locator("nav a[href='#way']").click()
    assert folded.get_attribute("open") is not None
    places = page.locator("[data-figure]")
    assert places.count() >= 8
    for place in places.all():
        drawn(page, place.get_attribute("id"))
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    assert page.locator("h1").inner_text() == page.title() == TITLE


def test_tables_and_figures_have_one_width_and_lines_of_text_can_be_read(page):
    drawn(page, "heat-map")
    places = ("#heat figure", "#samples .scroll", "#clusters .cards")
    widths = [page.locator(place).first.bounding_box()["width"] for place in places]
    assert max(widths) - min(widths) < 1
    letter = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize) / 2")
    for text in page.locator("section > p:visible, .card p:visible").all():
        assert text.bounding_box()["width"] / letter < 113


def told(page, place, index):
    """What the pointer is told at a mark of a figure."""
    place.locator(".scatterlayer .trace").first.locator(".point").nth(index).hover(force=True)
    said = place.locator(".hoverlayer .hovertext").first
    said.wait_for()
    return said.text_content()


def test_the_picture_of_all_samples_tells_names_and_changes_its_colours(page):
    place = drawn(page, "overview")
    assert place.locator(".still").count() == 0
    names = "place => place.data.map((trace) => trace.name)"
    rows = page.evaluate("figures.overview.layout.meta.drawn")
    groups = place.evaluate(names)
    assert groups[:2] == ["cluster 0", "cluster 1"]
    first = place.evaluate("place => place.data[0].text[0]")
    assert "Probability: " in first
    said = told(page, place, 0)
    assert said.startswith(unescape(first.partition("</b>")[0].removeprefix("<b>")))
    assert "Class: " in said
    choice = page.locator("[data-cloud] select")
    choice.select_option(label="Class")
    assert place.evaluate(names)[:2] == ["'second\"", "&lt;i&gt;first&lt;/i&gt;"]
    choice.select_option(label="age")
    assert place.evaluate("place => place.data[0].marker.color.length") == len(rows)
    choice.select_option(label="Cluster")
    assert place.evaluate(names) == groups


def test_a_sample_is_found_in_the_picture(page):
    place, search = drawn(page, "overview"), page.locator("[data-cloud] input")
    search.fill("ALERT(1)")
    said = page.locator("[data-cloud] [role=status]")
    assert said.inner_text() == "1 sample found"
    found = place.evaluate("place => place.data.at(-1).text")
    assert found == [SCRIPT.replace("<", "&lt;").replace(">", "&gt;")]
    assert place.evaluate("place => place.data[0].marker.opacity") == 0.2
    search.fill("nobody")
    assert said.inner_text() == "0 samples found"
    search.fill("")
    assert said.inner_text() == ""
    assert place.evaluate("place => place.data[0].marker.opacity") == 1


def test_the_heat_map_tells_samples_and_variables(page):
    place = drawn(page, "heat-map")
    box = place.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + box["height"] - 5)
    said = place.locator(".hoverlayer .hovertext").first
    said.wait_for()
    assert "z-score" in said.text_content()


def test_what_stands_in_short_leads_to_where_it_is_shown(page):
    for link in page.locator("#summary a").all():
        assert page.locator(link.get_attribute("href")).count() == 1


def test_figures_keep_to_their_places_and_leave_room_for_bars(page):
    """At any width, also where the window keeps its own; names are not all that is seen."""
    place = drawn(page, "apart-0")
    width, narrower = place.bounding_box()["width"], f"{0.9 * page.viewport_size['width']}px"
    for most in (narrower, ""):
        page.evaluate("most => { document.querySelector('main').style.maxWidth = most; }", most)
        fits = "place => place.clientWidth === place.querySelector('.main-svg').clientWidth"
        page.wait_for_function(f"() => ({fits})(document.getElementById('apart-0'))")
        bars = place.locator(".bglayer, .gridlayer").first.bounding_box()["width"]
        assert bars > 0.4 * place.bounding_box()["width"]
    assert place.bounding_box()["width"] == width


def test_names_from_the_data_are_text_and_nothing_else(page):
    assert page.locator("main script, main img, main a[href^='http']").count() == 0
    shown = page.locator("#samples tbody th").all_text_contents()
    assert set(NAMES) <= set(shown)
    shown = page.locator("#variables th").all_text_contents()
    assert set(VARIABLES) - {VARIABLES[3]} <= set(shown)


def test_no_button_of_a_plot_sends_data_and_tab_skips_those_of_the_cards(page):
    drawn(page, "overview")
    drawn(page, "apart-0").hover()
    buttons = page.locator(".modebar-btn")
    titles = buttons.evaluate_all("all => all.map((each) => each.dataset.title ?? each.title)")
    words = ("share", "cloud", "upload", "plotly", "edit")
    assert not [title for title in titles if any(word in title.lower() for word in words)]
    assert titles or page.viewport_size["width"] == 390 or page.evaluate("!settings.displayModeBar")
    reached = page.locator(".card .modebar-btn").evaluate_all("all => all.map((b) => b.tabIndex)")
    assert set(reached) <= {-1}


def test_pointing_at_a_sample_tells_its_name(page):
    label = page.locator("#samples tr", has_text=SCRIPT).locator("td").first.text_content()
    place = drawn(page, f"own-{label}")
    index = place.evaluate(
        "(figure) => figure.data[0].text.findIndex((t) => t.includes('alert(1)'))"
    )
    place.locator(".scatterlayer .point").nth(index).hover(force=True)
    said = place.locator(".hoverlayer .hovertext")
    said.wait_for()
    assert said.text_content().startswith(SCRIPT)
    assert f"cluster {label}" in said.text_content()


def test_variables_are_searched_sorted_and_copied(page):
    box = page.locator("#within")
    box.locator(".scroll").scroll_into_view_if_needed()
    rows = box.locator("tbody tr:visible")
    rows.first.wait_for()
    everything = rows.count()
    box.locator("input").fill("tp5")
    assert rows.count() == 2 < everything
    assert "2 of" in box.locator("[role=status]").inner_text()
    box.locator("input").fill("")
    box.locator("select").select_option("1")
    names = rows.locator("th").all_inner_texts()
    assert 0 < len(names) < everything
    box.locator("[data-copy]").click()
    box.locator("[role=status]", has_text=f"{len(names)} variables copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").split("\n")[:3] == names[:3]
    head = box.locator("thead th", has_text="Axis 1")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    column = head.evaluate("(cell) => cell.cellIndex") - 1
    values = [float(row.locator("td").nth(column).inner_text()) for row in rows.all()[:10]]
    assert values == sorted(values, reverse=True)


def test_light_and_dark_repaint_page_and_figures(page):
    drawn(page, "overview")
    looks = "[getComputedStyle(document.body).backgroundColor, overview.layout.font.color]"
    light = page.evaluate(looks)
    page.locator("#theme").click()
    dark = page.evaluate(looks)
    assert page.locator("#theme").inner_text() == "Light colours"
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert page.evaluate("localStorage.getItem('subspaces-theme')") == "dark"
    page.locator("#theme").click()
    assert page.evaluate(looks) == light


def test_the_keyboard_reaches_the_findings(page):
    page.locator("#theme").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the findings"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("Enter")


def test_captions_stay_within_their_tables(page):
    """Also where a table is wider than the page and scrolls."""
    within = """tables => tables.every((table) => {
      const text = table.querySelector("caption span").getBoundingClientRect();
      const place = table.closest(".scroll").getBoundingClientRect();
      return text.left >= place.left && text.right <= place.right;
    })"""
    page.locator("nav a[href='#way']").click()
    assert page.locator(".scroll > table").count() >= 6
    assert page.locator(".scroll > table").evaluate_all(within)


def test_on_paper_tables_keep_their_headings_and_say_how_long_they_are(browser, file):
    with browser.new_page(viewport={"width": 718, "height": 900}) as page:
        page.goto(file.as_uri())
        page.emulate_media(media="print")
        table = page.locator("#within table")
        total = table.locator("tbody tr").count()
        assert total > 30
        assert table.locator("thead").inner_text().split()[:2] == ["Variable", "Cluster"]
        assert table.locator("thead button").first.is_visible()
        assert not page.locator("[data-copy]").first.is_visible()
        assert table.locator("tbody tr:visible").count() == 30
        said = "span => getComputedStyle(span, '::after').content"
        whole = (
            "boxes => boxes.every((box) => box.clientHeight >= box.firstElementChild.offsetHeight)"
        )
        assert page.locator(".scroll:visible").evaluate_all(whole)
        caption = table.locator("caption span")
        words = '" Printed here: the first 15 rows of each cluster."'
        assert caption.evaluate(said) == words
        printed = table.locator("tbody tr:visible").evaluate_all(
            "rows => rows.map((row) => row.dataset.group)"
        )
        assert printed == 15 * ["0"] + 15 * ["1"]
        page.emulate_media(media="screen")
        page.locator("#within input").fill("tp5")
        page.emulate_media(media="print")
        uncut = "() => !document.querySelector('#within caption span').dataset.printed"
        page.wait_for_function(uncut)
        assert table.locator("tbody tr:visible").count() == 2
        assert caption.evaluate(said) == '""'


def test_on_paper_figures_are_no_wider_than_it(browser, file):
    with browser.new_page(viewport={"width": 1440, "height": 900}) as page:
        page.goto(file.as_uri())
        drawn(page, "overview")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        widths = page.locator("#overview, #heat-map, #apart-0").evaluate_all(
            "places => places.map((place) => place.layout.width)"
        )
        page.evaluate("fitting.disconnect()")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 718, "height": 900})
        for place, width in zip(("#overview", "#heat-map", "#apart-0"), widths, strict=True):
            assert width <= page.locator(place).bounding_box()["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= 718
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1440, "height": 900})
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.evaluate("places.forEach((place) => fitting.observe(place))")
        page.wait_for_function("() => document.getElementById('heat-map').layout.width > 718")


def test_without_a_script_the_tables_are_there(browser, file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#variables tbody tr").count() > 30
    assert page.locator("#overview .still").is_visible()
    assert page.locator("#samples tbody th", has_text=SCRIPT).is_visible()
    context.close()


def test_options_and_percentages_stay_on_one_line(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 6))
    model = PSC(2, random_state=0).fit(X)
    text = "Half of the values, 50 %, are far out; use --drop-missing 0.5 " * 6
    model.record_ = replace(model.record_, warned=(note(text),))
    path = model.report(X, tmp_path / "report.html")
    with browser.new_page(viewport={"width": 390, "height": 900}) as page:
        page.goto(path.as_uri())
        said = page.locator("#summary ul.points:not(.clusters) li", has_text="Half of the values")
        kept = said.locator(".whole")
        assert kept.all_text_contents() == ["50 %", "--drop-missing"] * 6
        # A piece that breaks has several rectangles.
        rows = kept.evaluate_all("parts => parts.map(part => part.getClientRects().length)")
        assert set(rows) == {1}
        assert text.strip() in page.locator("#summary ul.points:not(.clusters)").text_content()
