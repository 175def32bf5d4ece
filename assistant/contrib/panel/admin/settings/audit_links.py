"""What an entry of the audit is about, as an address of the control panel."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable

from assistant.admin.base.own_addresses import reverse
from assistant.models import Assistant, AuditEntry, Conversation, PromptVersion

# Takes entries whose action begins with one word, and returns addresses by their primary keys.
Finder = Callable[[Collection[AuditEntry]], dict[int, str]]
_added: dict[str, Finder] = {}


def link_entries(about: str, find: Finder) -> None:
    """Say where the pages are of what entries of the audit changed.

    Args:
        about: the first word of their actions, such as `prompt`.
        find: takes such entries of a page, and returns addresses by the entries' primary keys; of what is gone none.
    """
    _added[about] = find


def addresses_of(entries: Iterable[AuditEntry]) -> dict[int, str]:
    """Return the addresses of what entries changed, by their primary keys; a query or two for each kind."""
    by_kind: dict[str, list[AuditEntry]] = {}
    for entry in entries:
        by_kind.setdefault(entry.action.partition(".")[0], []).append(entry)
    found: dict[int, str] = {}
    for about, some in by_kind.items():
        if about in _added:
            found |= _added[about](some)
    return found


def _tools(entries: Collection[AuditEntry]) -> dict[int, str]:
    names = {entry.pk: entry.target.rpartition(": ")[2] for entry in entries}
    return {pk: reverse("admin:tool_page", args=[name]) for pk, name in names.items() if name and "/" not in name}


def _prompts(entries: Collection[AuditEntry]) -> dict[int, str]:
    """Find versions by "slug vN" and the tenant."""
    wanted = {entry.pk: (entry.tenant_id, *entry.target.rpartition(" v")[::2]) for entry in entries}
    slugs = {slug for _tenant, slug, _number in wanted.values()}
    tenants = {tenant for tenant, _slug, _number in wanted.values()}
    rows = PromptVersion.objects.filter(assistant__tenant__in=tenants, assistant__slug__in=slugs)
    numbers = {int(number) for *_, number in wanted.values() if number.isascii() and number.isdigit()}
    columns = rows.filter(number__in=numbers).values_list("assistant__tenant_id", "assistant__slug", "number", "pk")
    known = {(tenant, slug, str(number)): pk for tenant, slug, number, pk in columns}
    return {
        pk: reverse("admin:assistant_promptversion_change", args=[known[key]])
        for pk, key in wanted.items()
        if key in known
    }


def _assistants(entries: Collection[AuditEntry]) -> dict[int, str]:
    """Find assistants by their names and the tenant; of two of one name none."""
    names = {entry.target for entry in entries}
    rows = Assistant.objects.filter(tenant__in={entry.tenant_id for entry in entries}, name__in=names)
    known: dict[tuple[int, str], list[int]] = {}
    for tenant, name, pk in rows.values_list("tenant_id", "name", "pk"):
        known.setdefault((tenant, name), []).append(pk)
    found = {entry.pk: known.get((entry.tenant_id or 0, entry.target), []) for entry in entries}
    return {
        pk: reverse("admin:assistant_assistant_change", args=[some[0]]) for pk, some in found.items() if len(some) == 1
    }


def _limits(entries: Collection[AuditEntry]) -> dict[int, str]:
    return {
        entry.pk: reverse("admin:assistant_tenant_spend", args=[entry.tenant_id])
        for entry in entries
        if entry.tenant_id is not None
    }


def _conversations(entries: Collection[AuditEntry]) -> dict[int, str]:
    """Find conversations, which entries name by their ids."""
    names = {entry.pk: entry.target for entry in entries if is_id(entry.target)}
    tenants = {entry.tenant_id for entry in entries}
    rows = Conversation.objects.filter(tenant__in=tenants, pk__in=set(names.values()))
    known = {str(pk) for pk in rows.values_list("pk", flat=True)}
    page = "admin:assistant_conversation_change"
    return {pk: reverse(page, args=[name]) for pk, name in names.items() if name in known}


def is_id(text: str) -> bool:
    """Whether a target is an id, which is no name for people."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


link_entries("conversation", _conversations)
link_entries("tool", _tools)
link_entries("prompt", _prompts)
link_entries("assistant", _assistants)
link_entries("limits", _limits)
