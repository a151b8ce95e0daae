"""A real browser for the tests of the page, or a skip that says what to install."""

import os
from contextlib import contextmanager
from shutil import which

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LOCAL = ("file:", "data:", "blob:")


@contextmanager
def chromium():
    """A headless Chromium of the machine; playwright's own is never downloaded."""
    path = next(filter(None, map(which, NAMES)), None)
    if path is None:
        pytest.skip(
            "THE REPORT WAS NOT TESTED IN A BROWSER: none is on the PATH; "
            "on Debian: apt-get install chromium fonts-dejavu-core"
        )
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="THE REPORT WAS NOT TESTED IN A BROWSER: pip install playwright",
    )
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            browser.close()


def complaints_of(page):
    """What must stay empty: errors, dialogs, and requests to anywhere but this file."""
    found = []
    page.on("console", lambda said: found.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("dialog", lambda dialog: (found.append(dialog.message), dialog.dismiss()))
    page.on(
        "request", lambda asked: None if asked.url.startswith(LOCAL) else found.append(asked.url)
    )
    return found


def drawn(page, name):
    """A figure, scrolled to and drawn."""
    place = page.locator(f"#{name}")
    place.scroll_into_view_if_needed()
    place.locator(".main-svg").first.wait_for()
    return place
