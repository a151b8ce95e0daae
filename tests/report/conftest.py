"""A page opened in a browser, for tests whose module has a fixture ``file``: its path."""

import pytest

from tests.report.browser import chromium, complaints_of


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module", params=[390, 1440], ids=["phone", "desk"])
def opened(request, browser, file):
    """The page, opened once for each width, and what it complains of."""
    size = {"width": request.param, "height": 900}
    context = browser.new_context(
        viewport=size, color_scheme="light", permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    complaints = complaints_of(page)
    page.goto(file.as_uri())
    yield page, complaints
    context.close()


@pytest.fixture
def page(opened):
    """Whatever a test does with the page, it must not complain."""
    page, complaints = opened
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    yield page
    assert complaints == []
