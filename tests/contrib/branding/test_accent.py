"""Each theme gets shades of the accent that can be read, whatever the colour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.contrib.branding.services.accent import (
    DARK_BACKGROUNDS,
    FILL_CONTRAST,
    LIGHT_BACKGROUNDS,
    contrast,
    shades,
    stylesheet,
)

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


@given(COLOURS)
def test_the_accent_can_be_read_on_the_page_and_text_on_what_is_filled(colour: str) -> None:
    for found, backgrounds in zip(shades(colour), (LIGHT_BACKGROUNDS, DARK_BACKGROUNDS), strict=True):
        assert min(contrast(found.accent, one) for one in (*backgrounds, found.wash)) >= 4.5
        # Lines and signs need less; it follows from the above, and is what WCAG 1.4.11 asks for.
        assert min(contrast(found.hover, one) for one in backgrounds) >= 3
        assert min(contrast(found.text, one) for one in (found.fill, found.fill_hover)) >= 4.5
        assert contrast(found.fill, backgrounds[1]) >= FILL_CONTRAST


@pytest.mark.parametrize("colour", ["#ffd400", "#f59e0b", "#8a3a8f", "#0057b7", "#e30613"])
def test_what_is_filled_has_the_brands_own_colour(colour: str) -> None:
    light, dark = shades(colour)
    assert light.fill == dark.fill == colour


@given(COLOURS)
def test_a_colour_that_can_be_read_stays_as_it_is(colour: str) -> None:
    for number, found in enumerate(shades(colour)):
        assert _distance(shades(found.accent)[number].accent, found.accent) <= 6


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
    assert "--fill: light-dark(#8a3a8f, #8a3a8f);" in stylesheet("8a3a8f")
