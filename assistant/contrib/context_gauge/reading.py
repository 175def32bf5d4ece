"""Estimates how much of what an assistant reads of a conversation is used."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import OuterRef, Subquery

from assistant.core.conversation.paths import Path
from assistant.core.values.history_window import IMAGE_TOKENS, Estimates, repair, trim
from assistant.core.values.messages import Message
from assistant.models import Conversation, PromptVersion, Run
from assistant.models import Message as MessageRow
from assistant.services.assistants.configuration import DEFAULT_PROMPT
from assistant.services.conversations.paths import on_path, shown_path
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.conversations.summaries import summary_message, summary_of
from assistant.services.runs.opening.sent_files import CHARACTERS_PER_TOKEN, MAX_CHARACTERS, MAX_IMAGES
from assistant.services.runs.reading.stored_thread import own_thread
from assistant.services.tenancy.members import Member


@dataclass(frozen=True, slots=True)
class UsedContext:
    """What the next question would find used of a conversation's limit.

    Attributes:
        used: estimated tokens of the prompt, the summary and the messages after it; it may exceed the limit.
        limit: the tokens that the assistant reads of a conversation.
        older: whether the older messages are all read, summarised, or some of them not read any longer.
    """

    used: int
    limit: int
    older: Literal["read", "summarised", "left_out"]


def used_context(*, member: Member, runs: Collection[Run]) -> Mapping[int, Any]:
    """Return how much is used of the member's own conversations, with the newest answer of each path that is shown.

    Three queries for a conversation. There is nothing without a limit, nor for an older answer.
    """
    found: dict[int, Any] = {}
    given = {run.pk for run in runs}
    for thread_id in {run.conversation_id for run in runs}:
        conversation = _limited(member, thread_id)
        if conversation is None:
            continue
        path = shown_path(conversation)
        newest = _newest_answered(conversation, path)
        if newest in given:
            used = _used(conversation, path)
            found[newest] = {"used": used.used, "limit": used.limit, "older": used.older}
    return found


def _limited(member: Member, thread_id: uuid.UUID) -> Conversation | None:
    """Return a member's own conversation with its assistant and `prompt`; None if there is none with a limit."""
    prompts = PromptVersion.objects.filter(
        assistant=OuterRef("assistant"),
        assistant__tenant_id=OuterRef("tenant_id"),
        status=PromptVersion.Status.PUBLISHED,
    )
    limited = own_thread(member, thread_id).filter(assistant__history_tokens__gt=0)
    return limited.annotate(prompt=Subquery(prompts.values("text")[:1])).select_related("assistant").first()


def _newest_answered(conversation: Conversation, path: Path) -> int | None:
    answers = MessageRow.objects.filter(
        on_path(path),
        conversation=conversation,
        conversation__tenant_id=conversation.tenant_id,
        role=MessageRow.Role.ASSISTANT,
        is_superseded=False,
    ).exclude(content="")
    newest = answers.order_by("-position").only("run").first()
    return None if newest is None else newest.run_id


def _used(conversation: Conversation, path: Path) -> UsedContext:
    assistant = conversation.assistant
    summary = summary_message(*summary_of(conversation, path))
    # The values of a prompt's variables would cost queries, and hardly change its length.
    prompt: str = getattr(conversation, "prompt") or DEFAULT_PROMPT  # noqa: B009 - an annotation, unknown to mypy
    messages = repair([Message("system", prompt), *summary, *recent_messages(conversation=conversation, path=path)])
    estimates = Estimates()
    sent = trim(messages, tokens=0, estimates=estimates, count=assistant.history_messages)
    limit = assistant.history_tokens
    used = estimates.of(sent) + _files(sent, limit)
    if used > limit or len(sent) < len(messages):
        return UsedContext(used, limit, "left_out")
    return UsedContext(used, limit, "summarised" if summary else "read")


def _files(messages: Iterable[Message], limit: int) -> int:
    """Estimate the tokens of attached files from their sizes, with the bounds that a run has for them."""
    files = [file for message in messages for file in message.attachments]
    size = sum(file.size for file in files if not file.is_image)
    images = min(sum(file.is_image for file in files), MAX_IMAGES)
    characters = min(size, MAX_CHARACTERS, limit * CHARACTERS_PER_TOKEN // 2)
    return characters // CHARACTERS_PER_TOKEN + images * IMAGE_TOKENS
