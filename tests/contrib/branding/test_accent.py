"""Each theme gets shades of the accent that can be read, whatever the colour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.contrib.branding.services.accent import DARK_BACKGROUNDS, LIGHT_BACKGROUNDS, contrast, shades, stylesheet

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


@given(COLOURS)
def test_text_can_be_read_on_the_accent_and_the_accent_on_the_page(colour: str) -> None:
    for found, backgrounds in zip(shades(colour), (LIGHT_BACKGROUNDS, DARK_BACKGROUNDS), strict=True):
        assert min(contrast(found.accent, one) for one in (*backgrounds, found.wash, found.text)) >= 4.5
        assert contrast(found.hover, found.text) >= 4.5
        # Controls need less; it follows from the above, and is what WCAG 1.4.11 asks for.
        assert min(contrast(found.hover, one) for one in backgrounds) >= 3


@given(COLOURS)
def test_a_colour_that_can_be_read_stays_as_it_is(colour: str) -> None:
    for found in shades(colour):
        for again in shades(found.accent):
            if again.text == found.text:
                assert _distance(again.accent, found.accent) <= 6


def _distance(one: str, other: str) -> int:
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return max(abs(left - right) for left, right in pairs)


@pytest.mark.parametrize(
    ("one", "other", "ratio"), [("#000000", "#ffffff", 21), ("#767676", "#ffffff", 4.54), ("#abcdef", "#abcdef", 1)]
)
def test_contrast_is_that_of_wcag(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == contrast(other, one) == pytest.approx(ratio, abs=0.01)


def test_the_style_sheet_has_both_themes() -> None:
    light, dark = shades("#8a3a8f")
    assert f"--accent: light-dark({light.accent}, {dark.accent});" in stylesheet("#8a3a8f")
