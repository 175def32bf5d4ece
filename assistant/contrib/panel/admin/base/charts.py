"""Charts over days as inline SVG, without scripts: axes, values on hover and focus, the period before, and changes.

A page that has one also shows its numbers as a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH = 1200
HEIGHT = 260
LEFT = 56
RIGHT = 12
TOP = 46
BOTTOM = 32
TICKS = 4
LABELS = 6
# Half the width of the text of a value, so that it stays inside.
_HALF_TEXT = 150


@dataclass(frozen=True, slots=True)
class Point:
    """A day: the label below it, the value of the day, that of the period before, and both in words; None: no value.

    Attributes:
        marked: the part of the value that a bar marks, such as runs that failed.
    """

    label: str
    value: float | None
    earlier: float | None
    title: str
    earlier_title: str = ""
    marked: float = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at a point: which one, the number that stands above it, what it was, and its page."""

    place: int
    number: int
    title: str
    url: str = ""


def line_chart(
    points: Sequence[Point], *, name: str, unit: str = "", axis: str = "", marks: Sequence[Mark] = ()
) -> SafeString:
    """Return a chart with a line; `name` describes it to screen readers.

    `unit` stands behind each number of the axis, `axis` above them, such as a currency. Its
    colours are those of the admin: `frame.css` has the classes.
    """
    return _chart(points, name=name, unit=unit, axis=axis, marks=marks, draw=_value_line)


def bar_chart(points: Sequence[Point], *, name: str, unit: str = "", axis: str = "") -> SafeString:
    """Return a chart with a bar for each day, and the period before as a line."""
    return _chart(points, name=name, unit=unit, axis=axis, marks=(), draw=_bars)


def _chart(
    points: Sequence[Point],
    *,
    name: str,
    unit: str,
    axis: str,
    marks: Sequence[Mark],
    draw: Callable[[Sequence[Point], float], SafeString],
) -> SafeString:
    values = [one for point in points for one in (point.value, point.earlier) if one is not None]
    most = _ceiling(max(values, default=0))
    return format_html(
        '<svg class="chart line-chart" viewBox="0 0 {} {}" role="group" aria-label="{}">{}{}{}{}{}{}{}</svg>',
        WIDTH,
        HEIGHT,
        name,
        _axis(most, unit),
        format_html('<text x="{}" y="14" text-anchor="end">{}</text>', LEFT - 8, axis) if axis else "",
        _labels(points),
        _line("chart-earlier", points, [point.earlier for point in points], most),
        draw(points, most),
        _points(points, most, has_dots=draw is _value_line),
        _marks(points, marks),
    )


def _value_line(points: Sequence[Point], most: float) -> SafeString:
    return _line("chart-line", points, [point.value for point in points], most)


def _bars(points: Sequence[Point], most: float) -> SafeString:
    width = (WIDTH - LEFT - RIGHT) / max(len(points), 1) * 0.7
    return format_html_join(
        "",
        '<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>',
        (
            (
                style,
                _px(_x(place, len(points)) - width / 2),
                _px(_y(value, most)),
                _px(width),
                _px(_y(0, most) - _y(value, most)),
            )
            for place, point in enumerate(points)
            for style, value in (("chart-bar", point.value), ("chart-marked", point.marked))
            if value
        ),
    )


def _ceiling(highest: float) -> float:
    """Return the smallest 1, 2, 2.5 or 5 times a power of ten that is not below the highest value."""
    if highest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= highest * 0.9999)


def _x(place: int, count: int) -> float:
    room = WIDTH - LEFT - RIGHT
    return LEFT + (place + 0.5) * room / max(count, 1)


def _y(value: float, most: float) -> float:
    return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)


def _axis(most: float, unit: str) -> SafeString:
    steps = [most * number / TICKS for number in range(TICKS + 1)]
    places = max(1, 2 - math.floor(math.log10(most)))
    return format_html_join(
        "",
        '<line class="chart-grid" x1="{}" y1="{}" x2="{}" y2="{}"/>'
        '<text x="{}" y="{}" text-anchor="end">{}{}</text>',
        (
            (
                LEFT, _px(_y(step, most)), WIDTH - RIGHT, _px(_y(step, most)),
                LEFT - 8, _px(_y(step, most) + 4), _number(step, places), unit,
            )
            for step in steps
        ),
    )  # fmt: skip


def _labels(points: Sequence[Point]) -> SafeString:
    every = max(1, math.ceil(len(points) / LABELS))
    return format_html_join(
        "",
        '<text x="{}" y="{}" text-anchor="middle">{}</text>',
        (
            (_px(_x(place, len(points))), HEIGHT - 9, point.label)
            for place, point in enumerate(points)
            if place % every == every // 2
        ),
    )


def _marks(points: Sequence[Point], marks: Sequence[Mark]) -> SafeString:
    return format_html_join("", "{}", ((_mark(mark, _px(_x(mark.place, len(points)))),) for mark in marks))


def _mark(mark: Mark, x: str) -> SafeString:
    line = format_html('<line x1="{}" y1="{}" x2="{}" y2="{}"/>', x, TOP - 12, x, HEIGHT - BOTTOM)
    number = format_html(
        '<circle cx="{}" cy="{}" r="9"/><text x="{}" y="{}" text-anchor="middle">{}</text>',
        x, TOP - 18, x, TOP - 14, mark.number,
    )  # fmt: skip
    if mark.url:
        number = format_html('<a href="{}" aria-label="{}">{}</a>', mark.url, mark.title, number)
    return format_html('<g class="chart-change"><title>{}</title>{}{}</g>', mark.title, line, number)


def _line(style: str, points: Sequence[Point], values: Sequence[float | None], most: float) -> SafeString:
    """Return the pieces of a line; a day without a value is a gap."""
    return format_html_join(
        "",
        '<polyline class="{}" points="{}"/>',
        (
            (style, " ".join(f"{_px(_x(place, len(points)))},{_px(_y(value, most))}" for place, value in piece))
            for piece in _pieces(values)
        ),
    )


def _pieces(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    piece: list[tuple[int, float]] = []
    for place, value in enumerate(values):
        if value is not None:
            piece.append((place, value))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _points(points: Sequence[Point], most: float, *, has_dots: bool) -> SafeString:
    """Return what is hovered over and focused: each day's column with its dot and its value in words."""
    count = len(points)
    width = (WIDTH - LEFT - RIGHT) / max(count, 1)
    return format_html_join(
        "",
        '<g class="chart-day" tabindex="0" role="img" aria-label="{}"><rect class="chart-hit" x="{}" y="0" width="{}" '
        'height="{}"/>{}<text class="chart-value" x="{}" y="12" text-anchor="middle">{}</text></g>',
        (
            (
                ". ".join(filter(None, (point.title, point.earlier_title))),
                _px(_x(place, count) - width / 2), _px(width), HEIGHT,
                _dot(place, count, point.value, most) if has_dots else "",
                _px(min(max(_x(place, count), _HALF_TEXT), WIDTH - _HALF_TEXT)),
                " · ".join(filter(None, (point.title, point.earlier_title))),
            )
            for place, point in enumerate(points)
        ),
    )  # fmt: skip


def _dot(place: int, count: int, value: float | None, most: float) -> SafeString | str:
    if value is None:
        return ""
    return format_html('<circle class="chart-dot" cx="{}" cy="{}" r="4"/>', _px(_x(place, count)), _px(_y(value, most)))


def _number(number: float, places: int) -> str:
    is_whole = math.isclose(number, round(number), abs_tol=1e-9)
    places = 0 if is_whole else places
    return number_format(round(number, places), places, force_grouping=True)


def _px(number: float) -> str:
    return f"{number:.1f}"
