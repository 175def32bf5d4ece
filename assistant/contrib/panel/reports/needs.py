"""Finds what waits for a person: approvals, incidents, full limits, and settings that do not work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Exists, F, Model, OuterRef, Q

from assistant.contrib.panel.reports.jobs import failed_jobs, names_of
from assistant.contrib.panel.reports.secrets import stored_text, unreadable
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.panel.services.quota_report import high_use
from assistant.models import Approval, Assistant, Incident, Provider, Tenant, ToolSetting
from assistant.models.fields import decrypted
from assistant.services.jobs.names import PUBLISH_JOB
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import read_blocks
from assistant.services.toolpolicy.switch_query import read_secrets

# The part of a limit in per cent from which it is nearly used up.
FULL = 80
# Things are counted up to this number; a page shows more as "100+".
MAX_COUNTED = 100
# How many of each kind are named.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Item:
    """One thing: its name, its tenant's, and the primary key of the row whose page settles it; of a tool its name.

    `job` is the name of the job that failed, where the thing is one and `name` alone does not say which work it is.
    `refused_at` is when a limit first refused something.
    """

    name: str
    tenant: str
    key: int | str
    job: str = ""
    refused_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """Things of one kind: how many, at most `MAX_COUNTED`, and the first `NAMED` of them.

    `kind` is one of `needs`, or one that an optional app has added.
    """

    kind: str
    count: int
    items: tuple[Item, ...]

    @property
    def has_more(self) -> bool:
        return self.count >= MAX_COUNTED


Finder = Callable[[TenantFilter], Iterable[Item]]
_added: dict[str, tuple[Finder, str]] = {}


def look_for(kind: str, find: Finder, *, after: str = "") -> None:
    """Look for more things that wait for a person.

    Args:
        find: returns those of some tenants, the worst first, at most `MAX_COUNTED`.
        after: the kind that they follow; "" puts them last.
    """
    _added[kind] = find, after


def needs(*, tenants: TenantFilter, now: datetime) -> list[Need]:
    """Return what waits for a person in these tenants, without kinds of which there is nothing; the worst first."""
    reached, nearly = _limits(tenants, now)
    found: dict[str, Iterable[Item]] = {
        "limit-reached": reached,
        "approval": _approvals(tenants),
        "tool-off": _tools_off(tenants),
        "incident": _incidents(tenants),
        "limit": nearly,
        "stand-in": _without_model(tenants),
        "secret": _without_secret(tenants),
        "unreadable-toolsetting": unreadable_items(ToolSetting, "tool", tenants),
        "unreadable-provider": unreadable_items(Provider, "name", tenants),
        "publication": _failed_jobs(tenants, now, is_publication=True),
        "job": _failed_jobs(tenants, now, is_publication=False),
    }
    order = list(found)
    last = {kind: kind for kind in order}
    for kind, (find, after) in _added.items():
        found[kind] = find(tenants)
        order.insert(order.index(last[after]) + 1 if after else len(order), kind)
        last[after] = last[kind] = kind
    lists = [(kind, list(found[kind])) for kind in order]
    return [Need(kind, len(items), tuple(items[:NAMED])) for kind, items in lists if items]


def items_of(rows: Any, name: str, tenant: str = "tenant__name", key: str = "pk") -> list[Item]:
    """Return the things of a queryset, at most `MAX_COUNTED`; the names are those of its fields."""
    return [Item(*row) for row in rows.values_list(name, tenant, key)[:MAX_COUNTED]]


def _approvals(tenants: TenantFilter) -> list[Item]:
    return items_of(
        tenants.rows(Approval.objects.filter(tenant__is_active=True, run__is_test=False)).order_by("started_at"), "name"
    )


def _tools_off(tenants: TenantFilter) -> list[Item]:
    """Return the tools that are off for everyone, for operators: whoever sees all tenants."""
    if tenants.ids is not None:
        return []
    return [Item(f"{tool}: {block.reason}", "", tool) for tool, block in sorted(read_blocks().items())][:MAX_COUNTED]


def _incidents(tenants: TenantFilter) -> list[Item]:
    return items_of(tenants.rows(Incident.objects.filter(is_resolved=False)).order_by("-pk"), "tool")


def _limits(tenants: TenantFilter, now: datetime) -> tuple[list[Item], list[Item]]:
    """Return the limits that refuse, and those that are nearly used up."""
    active = tenants.rows(Tenant.objects.filter(is_active=True), "pk")
    found: tuple[list[Item], list[Item]] = ([], [])
    for tenant, use in high_use(tenants=active, percent=FULL, now=now):
        item = Item(f"{use.name}: {use.percent} %", tenant.name, tenant.pk, refused_at=use.refused_at)
        found[0 if use.is_reached else 1].append(item)
    return found[0][:MAX_COUNTED], found[1][:MAX_COUNTED]


def _failed_jobs(tenants: TenantFilter, now: datetime, *, is_publication: bool) -> list[Item]:
    failed = failed_jobs(tenants=tenants, now=now)
    chosen = failed.filter(name=PUBLISH_JOB) if is_publication else failed.exclude(name=PUBLISH_JOB)
    found = list(chosen.select_related("tenant").order_by("-ended_at")[:MAX_COUNTED])
    names = names_of(found[:NAMED])
    return [
        Item(f"{names[job.pk]}: {job.shown_problem}", job.tenant.name, job.pk)
        if job.pk in names
        else Item(job.shown_problem, job.tenant.name, job.pk, job.name)
        for job in found
    ]


def _without_model(tenants: TenantFilter) -> list[Item]:
    """Return the assistants that the stand-in answers, as `provider_choice` decides."""
    if settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL or settings.ASSISTANT_LOCAL_MODEL_URL:
        return []
    own = Provider.objects.filter(tenant=OuterRef("tenant"), is_untested=False)
    usable = Q(provider__tenant=None) | Q(provider__tenant=F("tenant"))
    default = Q(tenant__default_provider__tenant=None) | Q(tenant__default_provider__tenant=F("tenant"))
    rows = Assistant.objects.filter(is_active=True, tenant__is_active=True)
    rows = rows.exclude(usable, provider__isnull=False).exclude(default, tenant__default_provider__isnull=False)
    return items_of(tenants.rows(rows.exclude(Exists(own))).order_by("tenant", "slug"), "name")


def _without_secret(tenants: TenantFilter) -> list[Item]:
    """Return the tools that are on for a tenant and have a secret that neither it nor an assistant of it has set."""
    declared = {tool.name: set(tool.secrets) for tool in catalogue.registry() if tool.secrets}
    if not declared:
        return []
    rows = tenants.rows(ToolSetting.objects.filter(tool__in=declared, tenant__is_active=True)).defer("secrets")
    by_tool: dict[tuple[Tenant, str], list[Any]] = {}
    for setting in (
        rows.annotate(stored=stored_text("secrets")).select_related("tenant").order_by("tenant", "tool", "assistant")
    ):
        by_tool.setdefault((setting.tenant, setting.tool), []).append(setting)
    return [
        Item(tool, tenant.name, layers[0].pk)
        for (tenant, tool), layers in by_tool.items()
        if any(layer.policy != ToolSetting.Policy.OFF for layer in layers)
        and declared[tool] - _names_of_secrets([layer.stored for layer in layers], declared[tool])
    ][:MAX_COUNTED]


def _names_of_secrets(stored: Sequence[str], declared: set[str]) -> set[str]:
    """Return which secrets are set; all of them if some cannot be decrypted, which is a need of its own."""
    try:
        return set(read_secrets(decrypted(text, "ToolSetting.secrets") for text in stored if text))
    except ImproperlyConfigured:
        return declared
    except ValueError:
        return set()


def unreadable_items(model: type[Model], name: str, tenants: TenantFilter) -> list[Item]:
    """Return the rows of a model with a secret that cannot be decrypted, by the field with their name."""
    return [Item(*row) for row in islice(unreadable(model, name, tenants), MAX_COUNTED)]
