"""What the page of quality is asked for: whose sums, of which assistant, prompt, model and tool, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.utils.http import urlencode

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.insights.models import DaySum
from assistant.contrib.insights.services.measures import BY_SLUG, DISLIKED, Measure
from assistant.contrib.insights.services.reports import KINDS, By, Period
from assistant.contrib.panel.admin.base.picker import reported_tenants
from assistant.models import Assistant, Tenant

# What a custom role needs to allow for these pages.
PERMISSION = "prompts"
PERIODS = (7, 30, 90)


@dataclass(frozen=True)
class QualityRequest:
    """A request for the page.

    Attributes:
        tenant: the one that it is about; None for several.
        given: the parameters of the address that narrow the page.
    """

    tenant: Tenant | None
    assistant: Assistant | None
    rows: QuerySet[DaySum]
    tool: str
    period: Period
    measure: Measure
    by: By
    given: dict[str, str]

    def query(self, *without: str, **more: str) -> str:
        """Return the query of an address of this page, without some parameters and with others."""
        return urlencode({**{name: value for name, value in self.given.items() if name not in without}, **more})


def read_request(request: HttpRequest, *, now: datetime, tenant: Tenant | None = None) -> QualityRequest:
    """Return what is asked for; values that are none are left out. Raises `Http404` for another's assistant.

    Args:
        tenant: the one on whose tab the page stands; None: the assistant's, else the picked one, else all.
    """
    given = {
        name: value
        for name in ("assistant", "prompt", "provider", "model", "tool", "days", "measure", "by")
        if (value := request.GET.get(name, "").replace("\x00", "")[:200])
    }
    tenants = reported_tenants(request, PERMISSION)
    rows = tenants.rows(DaySum.objects.all())
    if tenant is not None:
        rows = DaySum.objects.filter(tenant=tenant)
    assistant = _assistant(request, given, tenant)
    if assistant is not None:
        tenant = assistant.tenant
        rows = DaySum.objects.filter(tenant=tenant, assistant=assistant)
    elif tenant is None and tenants.ids is not None and len(tenants.ids) == 1:
        tenant = tenants_of(request, PERMISSION).filter(pk__in=tenants.ids).first()
    if (number := _number(given.get("prompt", ""))) is not None:
        rows = rows.filter(prompt_number=number)
    if "model" in given:
        rows = rows.filter(model=given["model"], provider=given.get("provider", ""))
    days = _number(given.get("days", ""))
    by = given.get("by", "")
    return QualityRequest(
        tenant=tenant,
        assistant=assistant,
        rows=rows,
        tool=given.get("tool", ""),
        period=Period(last=now.astimezone(UTC).date(), days=days if days in PERIODS else 30),
        measure=BY_SLUG.get(given.get("measure", ""), DISLIKED),
        by=by if by in KINDS else _usual(tenant, assistant),
        given=given,
    )


def _usual(tenant: Tenant | None, assistant: Assistant | None) -> By:
    if assistant is not None:
        return "prompt"
    return "tenant" if tenant is None else "assistant"


def _assistant(request: HttpRequest, given: dict[str, str], tenant: Tenant | None) -> Assistant | None:
    if "assistant" not in given:
        return None
    number = _number(given["assistant"])
    found = Assistant.objects.filter(pk=number or 0, tenant__in=tenants_of(request, PERMISSION)).select_related(
        "tenant"
    )
    assistant = found.filter(tenant=tenant).first() if tenant is not None else found.first()
    if assistant is None:
        raise Http404("There is no such assistant.")
    return assistant


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def what_changed_url(*, assistant_id: int | None = None, tenant_id: int | None = None) -> str:
    """Return the address of the page "What changed?" of an assistant, a tenant, or all."""
    url = reverse("admin:what_changed")
    if assistant_id is not None:
        return f"{url}?assistant={assistant_id}"
    return url if tenant_id is None else f"{url}?tenant={tenant_id}"


def what_changed_of(asked: QualityRequest) -> str:
    """Return the address of the page "What changed?" about what a page of quality is about."""
    return what_changed_url(
        assistant_id=None if asked.assistant is None else asked.assistant.pk,
        tenant_id=None if asked.tenant is None else asked.tenant.pk,
    )


def named_tenant(request: HttpRequest) -> Tenant | None:
    """Return the tenant that the address names. Raises `Http404` for one that the user may not see."""
    number = _number(request.GET.get("tenant", ""))
    if number is None:
        return None
    tenant = tenants_of(request, PERMISSION).filter(pk=number).first()
    if tenant is None:
        raise Http404("There is no such tenant.")
    return tenant
