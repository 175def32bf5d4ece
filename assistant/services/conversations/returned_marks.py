"""Marks messages as untrusted again when a caller that keeps its own history sends them back.

Such a caller sends the texts of earlier answers and the calls of its own tools, without the sources of untrusted text
in them. Marked messages are therefore stored with a digest of the part that a caller can send back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from assistant.core.values.messages import Message
from assistant.core.values.untrusted import bounded_sources
from assistant.models import Message as MessageRow
from assistant.services.run_key import RunKey
from assistant.toolkit.context import UserId

# The most rows read for one request, the newest first: the same answer in many runs has many rows.
MAX_FOUND = 2_000


def digests_of(messages: Sequence[Message], *, key: RunKey) -> dict[str, str | None]:
    """Return the digests of a run's marked messages, by message id; runs no query if none is marked."""
    marked = [message for message in messages if message.sources]
    if not marked:
        return {}
    rows = MessageRow.objects.filter(
        conversation=key.conversation_id, conversation__tenant_id=key.tenant_id, run_id=key.pk
    )
    answered = {message.tool_call_id for message in messages if message.role == "tool"}
    asked = rows.order_by("position").values_list("content", flat=True).last() or ""
    return {message.id: _stored_digest(message, asked, answered) or None for message in marked}


def with_known_marks(*, tenant_id: int, user_id: UserId, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a history from a member with the marks of those messages that this member was sent before.

    Messages that are not known stay as they are: they are as trusted as the caller.
    """
    digests = list(_returned_digests(messages))
    wanted = {one for found in digests for one in found}
    if not wanted:
        return tuple(messages)
    rows = MessageRow.objects.filter(
        conversation__tenant_id=tenant_id, conversation__user_id=user_id, mark_digest__in=wanted
    )
    sources: Mapping[str, list[str]] = defaultdict(list)
    for digest, names in rows.order_by("-pk").values_list("mark_digest", "sources")[:MAX_FOUND]:
        sources[digest or ""].extend(names)
    return tuple(
        replace(message, sources=bounded_sources(names))
        if (names := [name for one in found for name in sources.get(one, ())])
        else message
        for message, found in zip(messages, digests, strict=True)
    )


def _stored_digest(message: Message, asked: str, answered: set[str]) -> str:
    if message.role == "tool":
        return _digest("result", message.tool_call_id)
    # Callers see the calls of their own tools only, which have no result in the run.
    own = [call.id for call in message.tool_calls if call.id not in answered]
    if own:
        return _digest("call", own[0])
    return _text_digest(asked, message.content)


def _returned_digests(messages: Sequence[Message]) -> Iterator[list[str]]:
    asked = ""
    for message in messages:
        if message.role == "assistant":
            found = [_digest("call", call.id) for call in message.tool_calls]
            yield [one for one in (*found, _text_digest(asked, message.content)) if one]
            continue
        yield [_digest("result", message.tool_call_id)] if message.role == "tool" else []
        asked = message.content


def _text_digest(asked: str, text: str) -> str:
    """Return the digest of the end of an answer to a message.

    The end alone, because the texts of one run come back as one; with what was asked, because short answers are alike.
    """
    end = text.replace("\r\n", "\n").rstrip().rpartition("\n\n")[2]
    return _digest("text", " ".join(asked.split()), " ".join(end.split())) if end.strip() else ""


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]
