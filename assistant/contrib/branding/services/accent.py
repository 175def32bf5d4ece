"""Derives readable shades for each theme from one colour.

What is filled with the colour has the colour itself, with white or dark text on it. Text in the colour gets a shade.

Contrast is that of WCAG 2.2 (relative luminance). Shades keep the hue in OKLCH (https://bottosson.github.io/posts/oklab/);
lightness is changed until the contrast holds, and the chroma is reduced to what sRGB has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

# Contrast of text, and the steps in which lightness is searched.
TEXT_CONTRAST = 4.5
STEP = 0.01
# The backgrounds in css/base.css and widget/style.js that are hardest to read on, and those below washes.
LIGHT_BACKGROUNDS = ("#e9e6df", "#fbfaf7")
DARK_BACKGROUNDS = ("#2b2925", "#1c1b19")
LIGHT_TEXT = "#ffffff"
DARK_TEXT = "#000000"
# Of what is filled to the theme's page, so that it is seen at all; its text is what has to be read.
FILL_CONTRAST = 1.25
_HOVER = 0.07
_WASH = 0.1
# The widget lays this part of the accent under small text.
_MARK = 0.15

Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Shades:
    """The colours of one theme, as #rrggbb.

    Attributes:
        accent: for text, signs and lines on the theme's backgrounds.
        hover: the accent under the pointer.
        wash: a background for what is chosen, on which the accent can be read.
        fill: the colour itself, or nearly, for buttons and marks.
        fill_hover: a button under the pointer.
        text: for text on these two.
    """

    accent: str
    hover: str
    wash: str
    fill: str
    fill_hover: str
    text: str


@lru_cache(maxsize=1024)
def shades(colour: str) -> tuple[Shades, Shades]:
    """Return the shades of the light and of the dark theme for a colour as #rrggbb."""
    return _shades(colour, LIGHT_BACKGROUNDS, -1), _shades(colour, DARK_BACKGROUNDS, 1)


def stylesheet(colour: str) -> str:
    """Return the style sheet that gives pages the accent."""
    light, dark = shades(colour)
    names = {"accent": "accent", "accent-hover": "hover", "accent-wash": "wash"}
    names |= {"fill": "fill", "fill-hover": "fill_hover", "on-accent": "text"}
    pairs = ((name, getattr(light, field), getattr(dark, field)) for name, field in names.items())
    lines = "".join(f"  --{name}: light-dark({of_light}, {of_dark});\n" for name, of_light, of_dark in pairs)
    return f".tenant-assistant:not(#\\9) {{\n{lines}}}\n"  # the selector of css/base.css


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours: 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _shades(colour: str, backgrounds: tuple[str, str], direction: int) -> Shades:
    lightness, a, b = _to_oklab(colour)
    fill, fill_hover, text = _fill(colour, backgrounds[1], direction)
    while True:
        accent = _to_hex(lightness, a, b)
        wash, mark = (_mixed(backgrounds[1], accent, part) for part in (_WASH, _MARK))
        if min(contrast(accent, one) for one in (*backgrounds, wash, mark)) >= TEXT_CONTRAST:
            hover = _to_hex(lightness + direction * _HOVER, a, b)
            return Shades(accent=accent, hover=hover, wash=wash, fill=fill, fill_hover=fill_hover, text=text)
        # Ends at black or white at the latest.
        lightness += direction * STEP


def _fill(colour: str, background: str, direction: int) -> tuple[str, str, str]:
    """Return the colour of what is filled, under the pointer too, and of the text on it."""
    lightness, a, b = _to_oklab(colour)
    fill = f"#{colour.removeprefix('#')}"
    while contrast(fill, background) < FILL_CONTRAST:
        lightness += direction * STEP
        fill = _to_hex(lightness, a, b)
    text = LIGHT_TEXT if contrast(fill, LIGHT_TEXT) >= TEXT_CONTRAST else DARK_TEXT
    hover = _to_hex(lightness - _HOVER, a, b)
    if contrast(hover, text) < TEXT_CONTRAST:
        hover = _to_hex(lightness + _HOVER, a, b)
    return fill, hover, text


def _mixed(background: str, colour: str, part: float) -> str:
    pairs = zip(_bytes(background), _bytes(colour), strict=True)
    return "#" + "".join(f"{round(under + (over - under) * part):02x}" for under, over in pairs)


def _bytes(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(colour: str) -> Triple:
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (byte / 255 for byte in _bytes(colour))
    )
    return red, green, blue


def _to_oklab(colour: str) -> Triple:
    red, green, blue = _linear(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _to_linear(lightness: float, a: float, b: float) -> Triple:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _to_hex(lightness: float, a: float, b: float) -> str:
    lightness = min(max(lightness, 0.0), 1.0)
    rgb = _to_linear(lightness, a, b)
    # In steps: less chroma until sRGB has the colour; grey it has.
    for part in (0.9**step for step in range(40)):
        rgb = _to_linear(lightness, a * part, b * part)
        if all(-0.0005 <= value <= 1.0005 for value in rgb):
            break
    return "#" + "".join(f"{_to_byte(value):02x}" for value in rgb)


def _to_byte(value: float) -> int:
    value = min(max(value, 0.0), 1.0)
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
