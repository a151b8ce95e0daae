import json

import pytest

from subspaces.app.report._names import (
    as_text,
    count,
    escape,
    inside_script,
    number,
    plotly_text,
    short_label,
)

HOSTILE = ["<script>alert(1)</script>", "</script><!--", "a & b", "\"'<>&", "%{x}", "é 漢字 🧬"]


@pytest.mark.parametrize("name", HOSTILE)
def test_json_in_a_script_is_unchanged_to_a_reader_and_harmless_to_a_parser(name):
    text = inside_script(json.dumps({"name": name}, ensure_ascii=False))
    assert json.loads(text) == {"name": name}
    assert not set("<>&") & set(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_html_and_plotly_get_no_markup(name):
    assert not set("<>\"'") & set(escape(name))
    assert not set("<>") & set(plotly_text(name))


def test_long_names_are_cut_before_they_are_escaped():
    assert plotly_text("<" * 100) == "&lt;" * 39 + "…"
    assert plotly_text("<" * 40) == "&lt;" * 40


def test_labels_keep_both_ends_of_a_long_name():
    assert short_label("sample 1 of the first ward", 11) == "sampl… ward"
    assert short_label("<sample>", 11) == "&lt;sample&gt;"
    assert short_label("<" * 20, 11) == "&lt;" * 5 + "…" + "&lt;" * 5
    assert len(short_label("a" * 100)) == 30


def test_what_no_file_can_hold_is_replaced():
    assert as_text("a\x00b\ud800c\nd") == "a\ufffdb\ufffdc\ufffdd"
    assert as_text(17) == "17"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.0, "0"), (0.12345, "0.123"), (1234.5, "1,234"), (-98765.0, "-98,765"),
        (1e7, "1e+07"), (float("inf"), "∞"), (-float("inf"), "-∞"), (float("nan"), "none"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_counts():
    assert count(1, "sample") == "1 sample"
    assert count(1200, "sample") == "1,200 samples"
    assert count(0, "sample") == "0 samples"
