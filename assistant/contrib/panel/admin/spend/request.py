"""Reads what a request asks of the page of spend: the month, what to narrow it to, and the table to show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.utils.http import urlencode

from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.contrib.panel.admin.base.picker import reported_tenants
from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.spend import KINDS, Line
from assistant.contrib.panel.reports.spend_scope import By, SpendScope
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import Assistant, Tenant, UsageEntry
from assistant.toolkit.context import UserId

PERMISSION = "spend"
MAX_TEXT = 200
# What a request may narrow the page to. `provider` belongs to `model`.
NAMES = ("tenant", "person", "assistant", "tool", "provider", "model", "purpose", "day")


@dataclass(frozen=True, slots=True)
class SpendRequest:
    """What a request asks for.

    Attributes:
        scope: the usage rows to sum.
        by: the table.
        given: what the URL narrows to, by the names of `NAMES`.
        tenant: the only tenant, loaded with its limits; None if there are several.
    """

    scope: SpendScope
    by: By
    given: Mapping[str, str]
    tenant: Tenant | None

    def query(self, *left_out: str, **changes: str) -> str:
        """Return the URL's query of the same page without some of its narrowings, and with some values changed."""
        given = {name: value for name, value in self.given.items() if name not in left_out}
        return urlencode({"month": str(self.scope.month), "by": self.by, **given, **changes})

    def narrowed(self, line: Line) -> str | None:
        """Return the URL's query of the page that a line of the table leads to; None if it stands for several."""
        if line.key is None:
            return None
        following = "person" if self.by == "assistant" else "assistant"
        if self.by == "model":
            return self.query(by=following, provider=line.key[0], model=line.key[1])
        return self.query(**{"by": following, str(self.by): str(line.key)})


def read_request(request: HttpRequest, *, now: datetime) -> SpendRequest:
    """Return what a request asks for.

    Raises:
        Http404: the user may not see the spend of any tenant, or of what the request names.
    """
    if not is_operator(request) and not permitted_of(request).tenants(PERMISSION):
        raise Http404("There is no such page.")
    given = {name: _text(request.GET[name]) for name in NAMES if name in request.GET}
    tenants = reported_tenants(request, PERMISSION)
    if "tenant" in given:
        number = _number(given["tenant"])
        if tenants.ids is not None and number not in tenants.ids:
            raise Http404("There is no such tenant.")
        tenants = TenantFilter(frozenset({number}))
    month = Month.read(_text(request.GET.get("month", "")), now=now)
    only = _only(tenants)
    default: By = "tenant" if only is None else "assistant"
    scope = SpendScope(
        month=month,
        tenants=tenants,
        person=_key(given["person"]) if "person" in given else None,
        assistant=_number(given["assistant"]) if "assistant" in given else None,
        tool=given.get("tool"),
        model=(given.get("provider", ""), given["model"]) if "model" in given else None,
        purpose=_purpose(given["purpose"]) if "purpose" in given else None,
        day=_day(given["day"], month) if "day" in given else None,
    )
    by = next((kind for kind in KINDS if kind == request.GET.get("by")), default)
    return SpendRequest(scope, by, given, only)


def names_of(asked: SpendRequest) -> dict[str, str]:
    """Return the names of what the page is narrowed to, by the names of `NAMES`. At most two queries."""
    found = {name: value for name, value in asked.given.items() if name in ("tool", "day")}
    if asked.tenant is not None and "tenant" in asked.given:
        found["tenant"] = asked.tenant.name
    if asked.scope.model is not None:
        found["model"] = " · ".join(filter(None, asked.scope.model))
    if asked.scope.purpose is not None:
        found["purpose"] = str(UsageEntry.Purpose(asked.scope.purpose).label)
    # Names only of those who have used something in these tenants.
    own: Any = asked.scope.tenants.rows(Assistant.objects.all())
    if asked.scope.assistant is not None:
        found["assistant"] = own.filter(pk=asked.scope.assistant).values_list("name", flat=True).first() or "—"
    if asked.scope.person is not None:
        name = f"user__{get_user_model().USERNAME_FIELD}"
        found["person"] = asked.scope.entries().values_list(name, flat=True).first() or "—"
    return found


def _purpose(text: str) -> str:
    if text not in UsageEntry.Purpose.values:
        raise Http404("There is no such purpose.")
    return text


def _only(tenants: TenantFilter) -> Tenant | None:
    if tenants.ids is None or len(tenants.ids) != 1:
        return None
    return Tenant.objects.filter(pk__in=tenants.ids).select_related("limits").first()


def _text(value: str) -> str:
    return value.replace("\x00", "")[:MAX_TEXT]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Http404("This is no number.")
    return int(text)


def _key(text: str) -> UserId:
    """Return the primary key of a user, of which a host project chose the type."""
    field = get_user_model()._meta.pk
    try:
        return _number(text) if field.get_internal_type().endswith("AutoField") else cast(UserId, field.to_python(text))
    except ValidationError as exc:
        raise Http404("There is no such person.") from exc


def _day(text: str, month: Month) -> date:
    found = next((day for day in month.days if day.isoformat() == text), None)
    if found is None:
        raise Http404("The month has no such day.")
    return found
