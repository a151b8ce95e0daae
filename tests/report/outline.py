"""What a page holds: its tags in order, its sections, and the data of its figures."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np


class Outline(HTMLParser):
    """Tags, ids and words of a page, and whether its tags are closed in order."""

    EMPTY = ("meta", "input", "br", "img")

    def __init__(self, page):
        super().__init__()
        self.ids, self.tags, self.stack, self.words = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.EMPTY:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("circle", "rect", "path") or self.stack[-1] == tag:
            assert self.stack.pop() == tag

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_data(self, data):
        if self.stack and self.stack[-1] not in ("script", "style"):
            self.words.append(data)


def sections_of(page):
    return re.findall(r'<section id="(\w+)"', page)


def section(page, name):
    return page.split(f'<section id="{name}"')[1].split("</section>")[0]


def figures_of(page):
    text = page.split('<script type="application/json" id="figures">')[1].split("</script>")[0]
    return json.loads(text)


def marks(html):
    """How many marks the pictures in a piece of HTML have."""
    return html.count("h0")


def numbers(array):
    return np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"]).tolist()
