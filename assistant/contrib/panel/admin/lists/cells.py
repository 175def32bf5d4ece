"""How cells of lists show states, moments and amounts: the same on every list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from django.conf import settings
from django.contrib import admin
from django.db.models import BooleanField, DateTimeField, Field
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from assistant.core.values.pricing import MILLIONTHS

# What a state means for whoever looks: it works, it waits, it is wrong, or it is no more.
Tone = Literal["good", "waits", "bad", "off"]


def state(tone: Tone, word: str | Promise) -> SafeString:
    """Return a state as a word; `panel.css` sets a shape before it, another for each tone."""
    return format_html('<span class="state state-{}">{}</span>', tone, word)


def moment(at: datetime | None) -> SafeString | str:
    """Return a moment in the zone of the page; a dash for None."""
    if at is None:
        return "—"
    shown = timezone.localtime(at)
    text = date_format(shown, "SHORT_DATETIME_FORMAT")
    return format_html('<time datetime="{}">{}</time>', shown.isoformat(timespec="seconds"), text)


@cache
def moment_column(field: Field[Any, Any]) -> Callable[[Any], SafeString | str]:
    """Return the column of a field that holds moments."""

    def column(row: Any) -> SafeString | str:
        return moment(getattr(row, field.name))

    column.__name__ = field.name
    return admin.display(description=field.verbose_name, ordering=field.name)(column)


@cache
def yes_or_no_column(field: Field[Any, Any]) -> Callable[[Any], str]:
    """Return the column of a field that is true or false, in words."""

    def column(row: Any) -> str:
        return gettext("yes") if getattr(row, field.name) else gettext("no")

    column.__name__ = field.name
    return admin.display(description=field.verbose_name, ordering=field.name)(column)


@cache
def in_words(flag: Callable[[Any], bool | None]) -> Callable[[Any], str]:
    """Return a column that a page draws as a tick or a cross in words; a dash for neither."""

    def column(row: Any) -> str:
        return {True: gettext("yes"), False: gettext("no")}.get(flag(row), "—")  # type: ignore[arg-type]

    column.__name__ = flag.__name__
    description = getattr(flag, "short_description", None)
    ordering = getattr(flag, "admin_order_field", None)
    return admin.display(description=description, ordering=ordering)(column)


def column_of(field: Any) -> Any:
    """Return what a list shows of a field: its name, where Django's own column is right."""
    if isinstance(field, DateTimeField):
        return moment_column(field)
    return yes_or_no_column(field) if isinstance(field, BooleanField) else field.name


def money(amount: Decimal | float, places: int = 2) -> str:
    """Return an amount with its currency, which is that of the providers' prices."""
    return f"{settings.ASSISTANT_CURRENCY} {number_format(amount, places, force_grouping=True)}"


def in_currency(title: str) -> str:
    """Return the title of a column of plain amounts, such as in a file, with their currency."""
    return f"{title} ({settings.ASSISTANT_CURRENCY})"


def money_of(millionths: int) -> str:
    """Return an amount, given in millionths; one below a hundredth with as many places as tell it from nothing."""
    amount = Decimal(millionths) / MILLIONTHS
    return money(amount, 2 if not millionths or amount >= Decimal("0.01") else 6)
