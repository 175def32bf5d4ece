"""Finds tenants, people, conversations, runs, errors and tools by what a person types into one box."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import F, Q, QuerySet, Value

from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import ApiKey, Assistant, Conversation, Membership, PromptVersion, Run, Tenant, ToolCall
from assistant.models.tenants import ChatReading
from assistant.services.toolpolicy import catalogue

# Hits shown of each kind.
MAX_HITS = 10
MAX_LENGTH = 100
MIN_LENGTH = 2
# Runs or tool calls with an id that begins so, of which the newest are shown.
MAX_SAME = 500
# The name of the model, and "tool".
Kind = str
Finder = Callable[[str, TenantFilter], Iterator["Hit"]]
_more_tools: list[Finder] = []


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found: its kind, its primary key, its name and where it belongs.

    The key of a tool is its name; it is empty for one that has no page, because its server is off or lists it no more.
    """

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


def search(*, text: str, tenants: Callable[[str], TenantFilter]) -> list[Hits]:
    """Return what is found, by kind and without empty kinds; the newest first.

    Args:
        tenants: returns the tenants in which the user has a permission, or, for "", that they administer.

    Names and titles match by a part of them, ids of runs and tool calls by their beginning (none begins with a
    plain word), those of conversations and errors as a whole, API keys by a part of their name or by their own
    beginning. Texts shorter than `MIN_LENGTH` find nothing; the rest of one beyond `MAX_LENGTH` is ignored.
    """
    text = text.replace("\x00", "").strip()[:MAX_LENGTH]
    if len(text) < MIN_LENGTH:
        return []
    return [found for permissions, kind in _KINDS if (found := _bounded(kind(text, _any(permissions, tenants))))]


def _any(permissions: tuple[str, ...], tenants: Callable[[str], TenantFilter]) -> TenantFilter:
    """Return the tenants in which the user has one of the permissions."""
    found = [tenants(permission).ids for permission in permissions]
    known = [ids for ids in found if ids is not None]
    return TenantFilter(None if len(known) < len(found) else frozenset[int]().union(*known))


def _bounded(hits: Iterable[Hit]) -> Hits | None:
    found = [hit for hit, _ in zip(hits, range(MAX_HITS + 1), strict=False)]
    return Hits(found[0].kind, tuple(found[:MAX_HITS]), len(found) > MAX_HITS) if found else None


def _tenants(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    rows = tenants.rows(Tenant.objects.filter(Q(slug__icontains=text) | Q(name__icontains=text)), "pk")
    for tenant in rows.order_by("slug")[: MAX_HITS + 1]:
        yield Hit("tenant", str(tenant.pk), tenant.name, tenant.slug)


def _assistants(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    matches = Q(name__icontains=text) | Q(slug__icontains=text)
    rows = tenants.rows(Assistant.objects.filter(matches).select_related("tenant"))
    for row in rows.order_by("name", "pk")[: MAX_HITS + 1]:
        yield Hit("assistant", str(row.pk), row.name, row.tenant.name)


def _prompts(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    """Find prompts that are in use or drafted: by their note, or by their assistant's name."""
    matches = Q(note__icontains=text) | Q(assistant__name__icontains=text) | Q(assistant__slug__icontains=text)
    known = tenants.rows(PromptVersion.objects.filter(matches), "assistant__tenant")
    rows = known.exclude(status=PromptVersion.Status.ARCHIVED).select_related("assistant__tenant")
    for row in rows.order_by("-pk")[: MAX_HITS + 1]:
        yield Hit("promptversion", str(row.pk), f"{row.assistant.name} v{row.number}", row.assistant.tenant.name)


def _people(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    model = get_user_model()
    matches = Q(**{f"user__{model.USERNAME_FIELD}__icontains": text})
    email = model.get_email_field_name()
    if email in {field.name for field in model._meta.get_fields()}:
        # Users who are not operators must enter a whole address: by its parts anybody's could be guessed.
        matches |= Q(**{f"user__{email}__{'icontains' if tenants.ids is None else 'iexact'}": text})
    people = Membership.objects.filter(matches).exclude(role=Membership.Role.END_USER)
    for membership in tenants.rows(people.select_related("user", "tenant")).order_by("-pk")[: MAX_HITS + 1]:
        yield Hit("membership", str(membership.pk), str(membership.user), membership.tenant.name)


def _conversations(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    # Where reading is restricted, a title would reveal what somebody has written.
    is_open = Q(tenant__chat_reading=ChatReading.OPEN)
    matches = Q(is_open, title__icontains=text)
    if (key := _uuid(text)) is not None:
        matches |= Q(pk=key)
    rows = tenants.rows(
        Conversation.objects.filter(matches, is_stateless=False, is_temporary=False).select_related("tenant")
    )
    for row in rows.order_by("-updated_at")[: MAX_HITS + 1]:
        is_shown = row.tenant.chat_reading == ChatReading.OPEN
        yield Hit("conversation", str(row.pk), str(row) if is_shown else str(row.pk), row.tenant.name)


def _runs(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    if not _begins_id(text):
        return
    # Messages of failed runs end with the id of the log entry.
    matches = Q(run_id__startswith=text) | (Q(error_message__contains=text) if _is_id(text) else Q())
    newest = _newest(tenants.rows(Run.objects.filter(matches)))
    rows = Run.objects.filter(pk__in=newest).select_related("tenant").defer("partial", "ending")
    for row in tenants.rows(rows).order_by("-started_at"):
        yield Hit("run", str(row.pk), str(row), row.tenant.name)


def _calls(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    if not _begins_id(text):
        return
    matches = Q(call_id__startswith=text) | Q(error_id=text)
    newest = _newest(tenants.rows(ToolCall.objects.filter(matches)))
    rows = ToolCall.objects.filter(pk__in=newest).select_related("tenant").only("name", "status", "tenant")
    for row in tenants.rows(rows).order_by("-started_at"):
        yield Hit("toolcall", str(row.pk), str(row), row.tenant.name)


def _newest(rows: QuerySet[Any]) -> list[int]:
    """Return the keys of the newest `MAX_HITS` and one, of `MAX_SAME`.

    They are put in order here: to have few in order, PostgreSQL follows the index of times through all rows there are.
    """
    found = rows.order_by().values_list("started_at", "pk")[:MAX_SAME]
    return [pk for _, pk in sorted(found, reverse=True)[: MAX_HITS + 1]]


def _keys(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    """Find API keys by a part of their name, or by the beginning that is stored of them: one that leaked, too."""
    begins = Q(typed__startswith=F("prefix"), prefix__gt="") | Q(prefix__startswith=text)
    rows = ApiKey.objects.annotate(typed=Value(text)).filter(Q(name__icontains=text) | begins)
    for key in tenants.rows(rows.select_related("tenant")).order_by("-pk")[: MAX_HITS + 1]:
        yield Hit("apikey", str(key.pk), str(key), key.tenant.name)


def _tools(text: str, tenants: TenantFilter) -> Iterator[Hit]:
    word = text.lower()
    if tenants.ids is None or tenants.ids:
        yield from (Hit("tool", tool.name, tool.name) for tool in catalogue.registry() if word in tool.name.lower())
    for finder in _more_tools:
        yield from finder(text, tenants)


# The functions that find things of one kind, each with the permissions of which one is needed to open them.
_KINDS: list[tuple[tuple[str, ...], Finder]] = [
    (("",), _tenants),
    (("",), _assistants),
    (("prompts",), _prompts),
    (("people",), _people),
    (("read_chats",), _conversations),
    (("read_chats",), _runs),
    (("read_chats",), _calls),
    (("keys",), _keys),
    # The permissions with which one can open the page of a tool, or the list of its calls.
    (("tools", "read_chats"), _tools),
]


def find_more_tools(finder: Finder) -> None:
    """Let an app find tools that are not this deployment's own: hits of the kind "tool", after those."""
    _more_tools.append(finder)


def find_more(finder: Finder, *, permissions: tuple[str, ...], after: Kind) -> None:
    """Let an app find rows of a model of its own.

    Args:
        finder: takes the text and the tenants, and yields hits whose kind is the model's name, the newest first and at
            most `MAX_HITS` and one.
        permissions: one of these is needed to open the model's pages.
        after: the kind whose hits come before.
    """
    places = {"membership": _people}
    position = next(i for i, (_, known) in enumerate(_KINDS) if known is places[after])
    _KINDS.insert(position + 1, (permissions, finder))


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _begins_id(text: str) -> bool:
    """Whether the id of a run or tool call can begin with a text: they have no index, so words read no row of them."""
    has_sign = "-" in text or any(char.isdigit() for char in text)
    return not any(char.isspace() for char in text) and (has_sign or _is_id(text))


def _is_id(text: str) -> bool:
    """Whether a text can be the id of an error: at least eight hexadecimal digits."""
    return len(text) >= 8 and all(char in "0123456789abcdef-" for char in text.lower())
