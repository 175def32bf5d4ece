"""The lists of the panel: filters in place, columns to choose, sums, a look at a row beside the list, and a file.

`designed` makes such a list of any page of a model; a project's own admin keeps the list that its theme draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin, display
from django.contrib.admin.options import IS_POPUP_VAR, IncorrectLookupParameters
from django.contrib.admin.templatetags.admin_list import items_for_result
from django.contrib.admin.utils import label_for_field, quote
from django.contrib.admin.views.main import ERROR_FLAG, ORDER_VAR, PAGE_VAR, SEARCH_VAR, ChangeList
from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.long_lists import MAX_COUNTED_ROWS
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.contrib.panel.admin.base.csv_file import csv_response
from assistant.contrib.panel.admin.lists.cells import column_of, in_words
from assistant.contrib.panel.admin.lists.file_cells import text_of_cell
from assistant.contrib.panel.admin.lists.list_parts import ListParts, Total
from assistant.contrib.panel.models import SavedView
from assistant.contrib.panel.services.saved_views import NotSaved, forget_view, save_view, views_of

# What a list's address says besides what Django reads: the columns, the row to look at, and that a file is asked for.
COLUMNS = "_cols"
LOOK = "_look"
FILE = "_csv"
# What forms above a list send: the name of a view to save, or to forget.
SAVE = "_save_view"
FORGET = "_forget_view"
# Columns that an address can name.
MAX_COLUMNS = 60
_BOX = "action_checkbox"
_LOOK_COLUMN = "look"
# Their templates are Django's; lists of other apps have filters of their own.
_PLAIN_FILTERS = ("admin/filter.html", "admin/assistant/filter.html")


def designed(kind: type[ModelAdmin[Any]]) -> type[ModelAdmin[Any]]:
    """Return a page of a model with the panel's list."""
    if issubclass(kind, DesignedList):
        return kind
    bases = (DesignedList, kind) if issubclass(kind, ListParts) else (DesignedList, kind, ListParts)
    return type(kind.__name__, bases, {"__module__": kind.__module__, "__doc__": kind.__doc__})


def design_pages(site: AdminSite) -> None:
    """Give the pages of the assistant's models in a site the panel's list; those of a project's models stay."""
    for model, page in list(site._registry.items()):
        # Of a page that is imported late, the class that it has then.
        kind = page.__class__
        if kind.__module__.startswith("assistant."):
            site._registry[model] = designed(kind)(model, site)


@dataclass(frozen=True, slots=True)
class Column:
    """A column that can be chosen."""

    name: str
    label: str
    is_shown: bool


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """What the bar above a list and the line below it show."""

    page: DesignedList
    request: HttpRequest
    rows: ChangeList

    @property
    def columns(self) -> list[Column]:
        """The columns that can be chosen, without the first, which links to the row."""
        shown = {_name(one) for one in self.rows.list_display}
        return [
            Column(_name(one), capfirst(self.page.label_of(one)), _name(one) in shown)
            for one in self.page.every_column(self.request)
            if one not in (self.rows.list_display_links or ())
        ]

    @property
    def has_chosen(self) -> bool:
        return COLUMNS in self.request.GET

    @property
    def first_columns(self) -> str:
        """The address with the columns that a list has at first."""
        return self.rows.get_query_string(remove=[COLUMNS, ORDER_VAR])

    @property
    def views(self) -> list[SavedView]:
        return views_of(user=self.request.user, page=self.page.opts.label_lower)

    @property
    def file(self) -> str:
        return self.rows.get_query_string({FILE: "1"})

    def kept(self, *but: str) -> list[tuple[str, str]]:
        """Return what the address says, for a form that changes a part of it."""
        left_out = {PAGE_VAR, ERROR_FLAG, *but}
        return [(name, one) for name, values in self.request.GET.lists() if name not in left_out for one in values]

    @property
    def kept_by_search(self) -> list[tuple[str, str]]:
        return self.kept(SEARCH_VAR)

    @property
    def kept_by_columns(self) -> list[tuple[str, str]]:
        # An order is stored as the numbers of columns.
        return self.kept(COLUMNS, ORDER_VAR)

    @property
    def chosen_filters(self) -> list[tuple[str, str, str]]:
        """The filters that are set: what by, to what, and the address without it."""
        found: list[tuple[str, str, str]] = []
        for spec in self.rows.filter_specs:
            choices = list(spec.choices(self.rows))
            chosen = next((one for one in choices[1:] if one["selected"]), None)
            if chosen is not None:
                found.append((capfirst(str(spec.title)), str(chosen["display"]), str(choices[0]["query_string"])))
        return found

    @property
    def totals(self) -> list[tuple[str, str]]:
        """What stands below each column; nothing where a list has no rows, or no figures."""
        found = self.page.figures(self.request, self.rows) if self.rows.result_list else {}
        if not any(found.values()):
            return []
        return [(_name(one), found.get(_name(one), "")) for one in self.rows.list_display]

    @property
    def is_cut(self) -> bool:
        """Whether the figures are those of a part of the rows, since there are too many to count."""
        return self.rows.result_count >= MAX_COUNTED_ROWS


class _ListWithColumns(ChangeList):
    """Keeps the chosen columns in the addresses of a list, and takes them for no filter."""

    design: Design

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = super().get_filters_params(params)
        return {name: value for name, value in found.items() if name != COLUMNS}


class DesignedList(ModelAdmin[Any]):
    """A page of a model whose list is the panel's."""

    more_columns: Sequence[Any]
    list_totals: Mapping[str, Total]
    more_totals: Callable[[HttpRequest, Any, Sequence[Any]], Mapping[str, str]]
    look_at: Callable[[HttpRequest, Any], Sequence[tuple[str, str]]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if self.change_list_template is None:
            self.change_list_template = "admin/assistant/change_list.html"  # type: ignore[misc]  # as Django reads it

    def label_of(self, column: Any) -> str:
        """Return what a list calls a column."""
        return str(label_for_field(column, self.model, self))

    def every_column(self, request: HttpRequest) -> list[Any]:
        """Return the columns of a list, those too that it does not show at first."""
        return [self._column(one) for one in (*super().get_list_display(request), *self.more_columns)]

    def _column(self, column: Any) -> Any:
        try:
            own = getattr(self, column, None) if isinstance(column, str) else column
            if own is not None:
                return in_words(own) if getattr(own, "boolean", False) else column
            return column if column in self.list_editable else column_of(self.opts.get_field(column))
        except FieldDoesNotExist:
            return column

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns that were chosen, else those that the list has at first, and the button for a look.

        Somebody who sees one tenant only gets no column for it unless they choose it.
        """
        columns = [self._column(one) for one in super().get_list_display(request)]
        first = [one for one in columns if _name(one) != "tenant"] if _has_one_tenant(request) else columns
        chosen = set(request.GET.getlist(COLUMNS)[:MAX_COLUMNS])
        links = super().get_list_display_links(request, first) or ()
        shown = [one for one in self.every_column(request) if one in links or _name(one) in chosen] if chosen else first
        if len(shown) <= len(links):
            shown = first
        return shown if IS_POPUP_VAR in request.GET else [*shown, _look_column(request)]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        """Return the columns that link to the row, as they are in `list_display`."""
        wanted = super().get_list_display_links(request, list_display)
        names = {_name(one) for one in wanted or ()}
        return wanted and [one for one in list_display if _name(one) in names]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        kind = super().get_changelist(request, **kwargs)
        return type(kind.__name__, (_ListWithColumns, kind), {})

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        found: Any = super().get_changelist_instance(request)
        found.design = None if IS_POPUP_VAR in request.GET else Design(self, request, found)
        for spec in found.filter_specs:
            if spec.template in _PLAIN_FILTERS and found.design is not None:
                spec.template = "admin/assistant/lists/filter.html"
        return found

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list, a look at one of its rows, or its rows as a file."""
        if request.method == "POST" and {SAVE, FORGET} & set(request.POST):
            return self._keep_view(request)
        if request.method != "GET" or not {FILE, LOOK} & set(request.GET):
            return super().changelist_view(request, extra_context)
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        try:
            return self._look(request) if LOOK in request.GET else self.file_of(request)
        except (IncorrectLookupParameters, OverflowError, DataError):
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")

    def _keep_view(self, request: HttpRequest) -> HttpResponse:
        """Save what the list shows under a name, or forget a name."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        mine: dict[str, Any] = {"user": request.user, "page": self.opts.label_lower}
        asked = request.GET.copy()
        for name in (PAGE_VAR, ERROR_FLAG):
            asked.pop(name, None)
        try:
            if FORGET in request.POST:
                forget_view(**mine, name=request.POST[FORGET])
            else:
                save_view(**mine, name=request.POST[SAVE], query=asked.urlencode())
        except NotSaved as exc:
            self.message_user(request, str(exc), messages.ERROR)
        return HttpResponseRedirect(f"{request.path}?{asked.urlencode()}")

    def figures(self, request: HttpRequest, found: ChangeList) -> Mapping[str, str]:
        """Return what stands below the columns of a list that are shown, by their names."""
        shown = {_name(one) for one in found.list_display}
        rows = found.queryset[:MAX_COUNTED_ROWS]
        wanted = {name: total for name, total in self.list_totals.items() if name in shown}
        values = rows.aggregate(**{f"total_{name}": total.of for name, total in wanted.items()}) if wanted else {}
        texts = {name: _figure(total, values[f"total_{name}"]) for name, total in wanted.items()}
        return texts | dict(self.more_totals(request, rows, found.result_list))

    def file_of(self, request: HttpRequest) -> HttpResponse:
        """Return the rows that the filters leave as a file, as many as the list counts."""
        page = _without_pages(self)
        _ask(request, FILE)
        found = page.get_changelist_instance(request)
        columns = [one for one in found.list_display if _name(one) not in (_BOX, _LOOK_COLUMN)]
        lines = ([text_of_cell(column, row, self) for column in columns] for row in found.result_list)
        return csv_response(str(self.opts.model_name), [capfirst(self.label_of(one)) for one in columns], lines)

    def _look(self, request: HttpRequest) -> HttpResponse:
        """Return what the list knows of one of its rows, with its texts. Raises `Http404`."""
        pk = request.GET[LOOK]
        _ask(request, LOOK, COLUMNS, PAGE_VAR, ORDER_VAR)
        found = _with_every_column(self).get_changelist_instance(_for_row(request, pk))
        row = next(iter(found.result_list), None)
        if row is None:
            raise Http404("There is no such row in the list.")
        cells = zip(found.list_display, items_for_result(found, row, None), strict=True)
        context = {
            **self.admin_site.each_context(request),
            "title": capfirst(self.opts.verbose_name),
            "opts": self.opts,
            "cells": [(self.label_of(one), cell) for one, cell in cells if _name(one) not in (_BOX, _LOOK_COLUMN)],
            "texts": self.look_at(request, row),
            "address": found.url_for_result(row),
            "is_part": request.headers.get("X-Requested-With") == "fetch",
        }
        return TemplateResponse(request, "admin/assistant/lists/look.html", context)


def _figure(total: Total, value: Any) -> str:
    return "" if value is None else f"{total.name} {total.shown(value)}"


def _has_one_tenant(request: HttpRequest) -> bool:
    return not is_operator(request) and len(permitted_of(request).anywhere) == 1


def _name(column: Any) -> str:
    return column if isinstance(column, str) else str(column.__name__)


def _without_pages(page: DesignedList) -> DesignedList:
    whole = copy(page)
    whole.list_per_page = MAX_COUNTED_ROWS  # type: ignore[misc]  # of this copy alone
    return whole


def _with_every_column(page: DesignedList) -> DesignedList:
    whole = copy(page)
    whole.get_list_display = page.every_column  # type: ignore[method-assign]  # of this copy alone
    return whole


def _ask(request: HttpRequest, *without: str) -> None:
    """Leave out what the list itself cannot read of an address."""
    asked = request.GET.copy()
    for name in without:
        asked.pop(name, None)
    request.GET = asked  # type: ignore[assignment]


def _for_row(request: HttpRequest, pk: str) -> HttpRequest:
    asked = request.GET.copy()
    asked["pk__exact"] = pk
    request.GET = asked  # type: ignore[assignment]
    return request


def _look_column(request: HttpRequest) -> Callable[[Any], SafeString]:
    """Return the column with the button for a look at the row, which keeps the list's filters."""
    asked = request.GET.copy()

    @display(description=gettext_lazy("Look"))
    def look(row: Any) -> SafeString:
        asked[LOOK] = quote(row.pk)
        return format_html('<a class="look" href="?{}" aria-label="{}"></a>', asked.urlencode(), gettext("Look"))

    return look
