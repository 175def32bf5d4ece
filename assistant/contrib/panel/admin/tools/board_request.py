"""Reads what a request asks of the board: its filters, and the switches that a form names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.utils.http import urlencode

from assistant.admin.base.visible_tenants import is_operator, tenants_of
from assistant.contrib.panel.services.tool_board import BoardRow, BoardTools, Source, State, tools_of_board
from assistant.models import Tenant
from assistant.services.toolpolicy.switch_changes import MAX_TARGETS, Target

STATES: tuple[State, ...] = ("on", "ask", "off", "own")
SOURCES: tuple[Source, ...] = ("own", "outside")
MAX_WORDS = 100
# What a custom role needs to allow for the board and the pages of tools.
PERMISSION = "tools"


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the board: a part of a tenant's or tool's name, the state of a cell, and kinds of tools."""

    q: str = ""
    tool: str = ""
    state: State = ""
    source: Source = ""
    changes: bool = False
    asks: bool = False

    @property
    def query(self) -> str:
        """The filters as a URL's query, without those that are not set."""
        given = {"q": self.q, "tool": self.tool, "state": self.state, "source": self.source}
        flags = {"changes": self.changes, "asks": self.asks}
        values = {name: value for name, value in given.items() if value}
        return urlencode(values | {name: "1" for name, value in flags.items() if value})

    def tenants(self, request: HttpRequest) -> QuerySet[Tenant]:
        """Return the tenants that the user may see and that match."""
        wanted = Q(slug__icontains=self.q) | Q(name__icontains=self.q) if self.q else Q()
        # Only the columns that the board needs, because a filter by state reads the rows of all tenants.
        rows = tenants_of(request, PERMISSION).only("slug", "name", "is_active", "after_untrusted")
        return rows.filter(wanted).order_by("name", "slug")

    def tools(self, tenants: Collection[Tenant]) -> BoardTools:
        """Return the tools that match, with those of these tenants' external servers."""
        return tools_of_board(
            tenants=[tenant.pk for tenant in tenants],
            words=self.tool,
            source=self.source,
            changes_things=self.changes,
            asks=self.asks,
        )


def read_filters(request: HttpRequest) -> Filters:
    """Return the filters of the URL's query; values that do not exist count as not set."""
    given = request.GET
    state, source = given.get("state", ""), given.get("source", "")
    return Filters(
        q=words_in(given.get("q", "")),
        tool=words_in(given.get("tool", "")),
        state=next((one for one in STATES if one == state), ""),
        source=next((one for one in SOURCES if one == source), ""),
        changes=given.get("changes") == "1",
        asks=given.get("asks") == "1",
    )


def read_targets(request: HttpRequest, shown: Sequence[BoardRow] = ()) -> list[Target]:
    """Return the tenants' switches that a form names, without order.

    They are given as `cells`, "tenant:tool" separated by commas, and as `row` and `column`: all tools of a tenant, and
    a tool for all tenants that are `shown` and have it.

    Raises:
        Http404: the user may not see a tenant, or the form names none or more than `MAX_TARGETS`.
    """
    post = request.POST
    pairs: set[tuple[int, str]] = set()
    for cell in filter(None, post.get("cells", "").split(",")):
        tenant, _, tool = cell.partition(":")
        pairs.add((number_in(tenant), tool))
    rows, columns = set(map(number_in, post.getlist("row"))), set(post.getlist("column"))
    pairs |= {
        (row.tenant.pk, cell.tool.name)
        for row in shown
        for cell in row.cells
        if cell is not None and (row.tenant.pk in rows or cell.tool.name in columns)
    }
    wanted = {tenant for tenant, _ in pairs}
    if not pairs or len(pairs) > MAX_TARGETS or not _may_see(request, wanted):
        raise Http404("There are no such switches.")
    return [Target(tenant, None, tool) for tenant, tool in sorted(pairs)]


def require_board(request: HttpRequest) -> None:
    """Raise `Http404` unless the user is an operator, or may switch tools of a tenant."""
    if not is_operator(request) and not tenants_of(request, PERMISSION).exists():
        raise Http404("There is no such page.")


def number_in(text: str) -> int:
    """Return an id; 0, which no row has, if the text is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def seen_in(request: HttpRequest) -> int | None:
    """Return the version of the switches that the page showed which sends this form; None if it does not say."""
    sent = request.POST.get("seen", "")
    return number_in(sent) if sent else None


def cells_of(targets: Iterable[Target]) -> str:
    """Return tenants' switches as a form names them."""
    return ",".join(f"{target.tenant_id}:{target.tool}" for target in targets)


def _may_see(request: HttpRequest, tenants: set[int]) -> bool:
    return tenants_of(request, PERMISSION).filter(pk__in=tenants).count() == len(tenants)


def words_in(text: str) -> str:
    """Return a search's words in one line, at most `MAX_WORDS` characters."""
    return " ".join(text.replace("\x00", "").split())[:MAX_WORDS]
