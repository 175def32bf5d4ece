"""Finds tenants, people, conversations, runs, errors and tools by what a person types into one box."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from django.contrib.auth import get_user_model
from django.db.models import Q

from assistant.models import Conversation, McpTool, Membership, Run, Tenant, ToolCall
from assistant.services.reports.tenant_filter import TenantFilter
from assistant.services.toolpolicy import catalogue

# Hits shown of each kind.
MAX_HITS = 10
MAX_LENGTH = 100
MIN_LENGTH = 2
Kind = Literal["tenant", "membership", "conversation", "run", "toolcall", "tool"]


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found: its kind, its primary key (of a tool the name), its name and where it belongs."""

    kind: Kind
    key: str
    name: str
    belongs_to: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found of one kind; `has_more` if there is more than `MAX_HITS`."""

    kind: Kind
    hits: tuple[Hit, ...]
    has_more: bool


def search(*, text: str, tenants: TenantFilter) -> list[Hits]:
    """Return what is found in these tenants, by kind and without empty kinds; the newest first.

    Names and titles match by a part of them, ids of runs and tool calls by their beginning, those of conversations and
    errors as a whole. Texts shorter than `MIN_LENGTH` find nothing; the rest of one beyond `MAX_LENGTH` is ignored.
    """
    text = text.replace("\x00", "").strip()[:MAX_LENGTH]
    if len(text) < MIN_LENGTH:
        return []
    kinds = (_tenants, _people, _conversations, _runs, _calls, _tools)
    return [found for kind in kinds if (found := _bounded(kind(text, tenants)))]


def _bounded(hits: Iterable[Hit]) -> Hits | None:
    found = [hit for hit, _ in zip(hits, range(MAX_HITS + 1), strict=False)]
    return Hits(found[0].kind, tuple(found[:MAX_HITS]), len(found) > MAX_HITS) if found else None


def _tenants(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    rows = tenants.rows(Tenant.objects.filter(Q(slug__icontains=text) | Q(name__icontains=text)), "pk")
    for tenant in rows.order_by("slug")[: MAX_HITS + 1]:
        yield Hit("tenant", str(tenant.pk), tenant.name, tenant.slug)


def _people(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    model = get_user_model()
    names = {model.USERNAME_FIELD, model.get_email_field_name()} & {field.name for field in model._meta.get_fields()}
    matches = Q(user__end_user__name__icontains=text) | Q(user__end_user__external_id=text)
    for name in names:
        matches |= Q(**{f"user__{name}__icontains": text})
    rows = tenants.rows(Membership.objects.filter(matches).select_related("user", "tenant", "user__end_user"))
    for membership in rows.order_by("-pk")[: MAX_HITS + 1]:
        person = getattr(membership.user, "end_user", None) or membership.user
        yield Hit("membership", str(membership.pk), str(person), membership.tenant.name)


def _conversations(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    matches = Q(title__icontains=text)
    if (key := _uuid(text)) is not None:
        matches |= Q(pk=key)
    rows = tenants.rows(Conversation.objects.filter(matches, is_stateless=False).select_related("tenant"))
    for row in rows.order_by("-updated_at")[: MAX_HITS + 1]:
        yield Hit("conversation", str(row.pk), str(row), row.tenant.name)


def _runs(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    # Messages of failed runs end with the id of the log entry.
    matches = Q(run_id__startswith=text) | (Q(error_message__contains=text) if _is_id(text) else Q())
    rows = tenants.rows(Run.objects.filter(matches).select_related("tenant").defer("partial", "ending"))
    for row in rows.order_by("-started_at")[: MAX_HITS + 1]:
        yield Hit("run", str(row.pk), str(row), row.tenant.name)


def _calls(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    matches = Q(call_id__startswith=text) | Q(error_id=text)
    rows = tenants.rows(ToolCall.objects.filter(matches).select_related("tenant").only("name", "status", "tenant"))
    for row in rows.order_by("-started_at")[: MAX_HITS + 1]:
        yield Hit("toolcall", str(row.pk), str(row), row.tenant.name)


def _tools(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    word = text.lower()
    yield from (Hit("tool", tool.name, tool.name) for tool in catalogue.registry() if word in tool.name.lower())
    rows = McpTool.objects.filter(name__icontains=text).select_related("server", "server__tenant")
    for row in tenants.rows(rows, "server__tenant").order_by("server__tenant", "name")[: MAX_HITS + 1]:
        yield Hit(
            "tool", f"{row.server.prefix}__{row.name}", f"{row.server.prefix}__{row.name}", row.server.tenant.name
        )


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _is_id(text: str) -> bool:
    """Whether a text can be the id of an error: at least eight hexadecimal digits."""
    return len(text) >= 8 and all(char in "0123456789abcdef-" for char in text.lower())
