"""Charts as inline SVG, without scripts; a page that has one also shows its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH, HEIGHT, FOOT, TOP = 900, 180, 30, 12


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: the label below it, its value, the part of it that is marked, and the text of its tooltip."""

    label: str
    value: float
    marked: float
    title: str


def bar_chart(bars: Sequence[Bar], *, name: str) -> SafeString:
    """Return a chart with a bar for each value; `name` describes it to screen readers.

    Its colours are those of the admin: `frame.css` has the classes.
    """
    highest = max((bar.value for bar in bars), default=0)
    most = highest or 1
    step = WIDTH / max(len(bars), 1)
    drawn = format_html_join(
        "",
        '<g><title>{}</title><rect class="chart-hit" x="{}" y="0" width="{}" height="{}"/>'
        '<rect class="chart-bar" x="{}" y="{}" width="{}" height="{}"/>'
        '<rect class="chart-marked" x="{}" y="{}" width="{}" height="{}"/></g>',
        (_bar(bar, number * step, step, most) for number, bar in enumerate(bars)),
    )
    every = max(1, len(bars) // 6)
    labels = format_html_join(
        "",
        '<text x="{}" y="{}" text-anchor="middle">{}</text>',
        ((_px((n + 0.5) * step), HEIGHT - 9, bar.label) for n, bar in enumerate(bars) if n % every == every // 2),
    )
    return format_html(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<text class="chart-most" x="2" y="10">{}</text>'
        '<line class="chart-axis" x1="0" y1="{}" x2="{}" y2="{}"/>{}{}</svg>',
        WIDTH, HEIGHT, name, _rounded(highest), HEIGHT - FOOT, WIDTH, HEIGHT - FOOT, drawn, labels,
    )  # fmt: skip


def _bar(bar: Bar, x: float, step: float, most: float) -> tuple[str, ...]:
    floor, room, gap = HEIGHT - FOOT, HEIGHT - FOOT - TOP, step * 0.12
    high, marked = bar.value / most * room, bar.marked / most * room
    left, width = _px(x + gap), _px(step - 2 * gap)
    return (
        bar.title,
        _px(x), _px(step), _px(floor),
        left, _px(floor - high), width, _px(high),
        left, _px(floor - marked), width, _px(marked),
    )  # fmt: skip


def _rounded(number: float) -> str:
    """Return a number as the language of the page writes it, with as many decimal places as tell small ones apart."""
    places = 0 if number == int(number) else 2 if number >= 0.01 else 6
    return number_format(number, places, force_grouping=True)


def _px(number: float) -> str:
    return f"{number:.1f}"
