"""The path of a conversation that is shown, and which messages are on it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q

from assistant.core.conversation.paths import WHOLE, Path, Tree
from assistant.models import Conversation, Run
from assistant.models import Message as MessageRow
from assistant.models.runs import IS_ACTIVE

# Each costs a few bytes wherever the conversation is read, and a condition in queries for one path.
MAX_BRANCHES = 400


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """One of several messages in the same place: its number from 1 `of` how many, and the ids of its neighbours."""

    number: int
    of: int
    previous: str | None
    next: str | None


def tree_of(conversation: Conversation, *, is_active: bool = False) -> Tree:
    """Return a conversation's messages as a tree, without a query.

    Args:
        is_active: a run is being answered, whose messages are not in the conversation's count yet.
    """
    return Tree.of(conversation.branches, conversation.choices, conversation.message_count + is_active)


def shown_path(conversation: Conversation, *, is_active: bool = False) -> Path:
    """Return the path that is shown, as `tree_of` knows it."""
    return tree_of(conversation, is_active=is_active).path() if conversation.branches else WHOLE


def shown_tree(conversation: Conversation) -> Tree:
    """Return the tree as it is shown; the database is asked only if the newest branch has no counted message."""
    branches = conversation.branches
    if not branches or branches[-1][0] < conversation.message_count:
        return tree_of(conversation)
    runs = Run.objects.filter(IS_ACTIVE, tenant_id=conversation.tenant_id, conversation=conversation)
    return tree_of(conversation, is_active=runs.exists())


def on_path(path: Path) -> Q:
    """Return the condition that a message is on a path."""
    if path.is_whole:
        return Q()
    condition = Q(pk__in=())
    for start, stop in path.ranges:
        condition |= Q(position__gte=start) if stop is None else Q(position__gte=start, position__lt=stop)
    return condition


def summarised_to(conversation: Conversation, path: Path) -> int:
    """Return up to which position the conversation's summary covers a path; 0 if it is of another path.

    What a message follows never changes, so that a summary belongs to every path with the last message that it covers.
    """
    is_covered = path is WHOLE or path.has(conversation.summarised_to - 1)
    return conversation.summarised_to if is_covered else 0


def versions_of(*, conversation: Conversation, tree: Tree, path: Path) -> Mapping[int, NamedVersion]:
    """Return, by position, the messages of a path that have other versions; without branches no query is run."""
    versions = tree.versions(path)
    places = {place for one in versions.values() for place in (one.before, one.after) if place is not None}
    if not places:
        return {}
    rows = MessageRow.objects.filter(
        conversation=conversation, conversation__tenant_id=conversation.tenant_id, position__in=places
    )
    ids: Mapping[int | None, str] = dict(rows.values_list("position", "message_id"))
    return {
        place: NamedVersion(one.number, one.of, ids.get(one.before), ids.get(one.after))
        for place, one in versions.items()
    }


def position_of(*, conversation: Conversation, message_id: str, role: str = "") -> int | None:
    """Return the position of a message of a conversation; None if there is none with this id, and role if given."""
    rows = MessageRow.objects.filter(
        conversation=conversation, conversation__tenant_id=conversation.tenant_id, message_id=message_id
    )
    return rows.filter(**({"role": role} if role else {})).values_list("position", flat=True).first()


def end_of_run(*, conversation: Conversation, run_id: str) -> int | None:
    """Return the position after a run's last message, by the client's id of the run; None if there is no such place.

    A run that stored none, as its calls still wait, ends where it began: after the messages of the runs before it.
    """
    rows = MessageRow.objects.filter(conversation=conversation, conversation__tenant_id=conversation.tenant_id)
    positions = rows.order_by("-position").values_list("position", flat=True)
    last = positions.filter(run__run_id=run_id).first()
    if last is None:
        runs = Run.objects.filter(tenant_id=conversation.tenant_id, conversation=conversation, run_id=run_id)
        number = runs.values_list("number", flat=True).first()
        last = None if number is None else positions.filter(run__number__lt=number).first()
    return None if last is None else last + 1


def store_tree(*, conversation_id: uuid.UUID, tenant_id: int, tree: Tree) -> None:
    """Store a tree's branches and choices."""
    branches, choices = tree.stored()
    Conversation.objects.filter(pk=conversation_id, tenant_id=tenant_id).update(branches=branches, choices=choices)
