"""Marks the messages of a history as untrusted again that its caller was sent before (`returned_marks`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from assistant.core.values.messages import Message
from assistant.core.values.untrusted import bounded_sources
from assistant.models import Message as MessageRow
from assistant.services.conversations.returned_marks import digest_of, text_digests
from assistant.toolkit.context import UserId

# The most rows read for one request, the newest first: the same answer in many runs has many rows.
MAX_FOUND = 2_000
# Paragraphs that are looked for in one request. A text that has more of them than are left is marked by this name.
MAX_PARAGRAPHS = 5_000
TOO_LONG = "an answer too long to look up"


def with_known_marks(*, tenant_id: int, user_id: UserId, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a history from a member with the marks of those messages that this member was sent before.

    Messages that are not known stay as they are: they are as trusted as the caller.
    """
    digests = list(_returned_digests(messages))
    wanted = {one for found in digests for one in found or ()}
    if not wanted and None not in digests:
        return tuple(messages)
    rows = MessageRow.objects.filter(
        conversation__tenant_id=tenant_id, conversation__user_id=user_id, mark_digest__in=wanted
    )
    sources: Mapping[str, list[str]] = defaultdict(list)
    for digest, names in rows.order_by("-pk").values_list("mark_digest", "sources")[:MAX_FOUND]:
        sources[digest or ""].extend(names)
    return tuple(
        replace(message, sources=bounded_sources(names))
        if (names := [TOO_LONG] if found is None else [name for one in found for name in sources.get(one, ())])
        else message
        for message, found in zip(messages, digests, strict=True)
    )


def _returned_digests(messages: Sequence[Message]) -> Iterator[list[str] | None]:
    """Yield the digests that each message may be stored with; None for a text with too many paragraphs."""
    asked = ""
    left = MAX_PARAGRAPHS
    for message in messages:
        if message.role != "assistant":
            yield [digest_of("result", message.tool_call_id)] if message.role == "tool" else []
            asked = message.content
            continue
        texts = list(islice(text_digests(asked, message.content), left + 1))
        left -= len(texts)
        yield None if left < 0 else [*(digest_of("call", call.id) for call in message.tool_calls), *texts]
        left = max(left, 0)
