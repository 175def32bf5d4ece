"""Marks messages as untrusted again when a caller that keeps its own history sends them back.

Such a caller sends the texts of earlier answers and the calls of its own tools, without the sources of untrusted text
in them. Marked messages are therefore stored with a digest of the part that a caller can send back: of a text its
beginning, which stays the same if the answer was stopped early, or changed further down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice

from assistant.core.values.messages import Message
from assistant.core.values.untrusted import bounded_sources
from assistant.models import Conversation
from assistant.models import Message as MessageRow
from assistant.services.conversations.paths import on_path, shown_path
from assistant.services.run_key import RunKey
from assistant.toolkit.context import UserId

# The most rows read for one request, the newest first: the same answer in many runs has many rows.
MAX_FOUND = 2_000
# Of the first paragraph of a marked text. An answer that was stopped before that comes back without a mark.
START_CHARACTERS = 16
# Paragraphs that are looked for in one request. A text that has more of them than are left is marked by this name.
MAX_PARAGRAPHS = 5_000
TOO_LONG = "an answer too long to look up"


def digests_of(messages: Sequence[Message], *, key: RunKey) -> dict[str, str | None]:
    """Return the digests of a run's marked messages, by message id; runs no query if none is marked."""
    marked = [message for message in messages if message.sources]
    if not marked:
        return {}
    rows = MessageRow.objects.filter(
        conversation=key.conversation_id, conversation__tenant_id=key.tenant_id, run_id=key.pk
    )
    answered = {message.tool_call_id for message in messages if message.role == "tool"}
    asked = rows.order_by("position").values_list("content", flat=True).last()
    if asked is None:
        asked = _followed_question(key)
    return {message.id: _stored_digest(message, asked, answered) or None for message in marked}


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


def _followed_question(key: RunKey) -> str:
    """Return the last question on the path of a run that was given none, such as for another answer to it."""
    conversation = Conversation.objects.get(pk=key.conversation_id, tenant_id=key.tenant_id)
    questions = MessageRow.objects.filter(
        on_path(shown_path(conversation, is_active=True)),
        conversation=conversation,
        conversation__tenant_id=key.tenant_id,
        role=MessageRow.Role.USER,
    )
    return questions.order_by("-position").values_list("content", flat=True).first() or ""


def _stored_digest(message: Message, asked: str, answered: set[str]) -> str:
    if message.role == "tool":
        return _digest("result", message.tool_call_id)
    # Callers see the calls of their own tools only, which have no result in the run.
    own = [call.id for call in message.tool_calls if call.id not in answered]
    if own:
        return _digest("call", own[0])
    return next(_text_digests(asked, message.content), "")


def _returned_digests(messages: Sequence[Message]) -> Iterator[list[str] | None]:
    """Yield the digests that each message may be stored with; None for a text with too many paragraphs."""
    asked, left = "", MAX_PARAGRAPHS
    for message in messages:
        if message.role != "assistant":
            yield [_digest("result", message.tool_call_id)] if message.role == "tool" else []
            asked = message.content
            continue
        texts = list(islice(_text_digests(asked, message.content), left + 1))
        left -= len(texts)
        yield None if left < 0 else [*(_digest("call", call.id) for call in message.tool_calls), *texts]
        left = max(left, 0)


def _text_digests(asked: str, text: str) -> Iterator[str]:
    """Yield the digest of the beginning of each paragraph of an answer to a message.

    Of each, because the texts of one run come back as one, and not all of them need be marked; with what was asked,
    because answers begin alike.
    """
    asked = " ".join(asked.split())
    for paragraph in text.replace("\r\n", "\n").split("\n\n"):
        if start := " ".join(paragraph.split())[:START_CHARACTERS]:
            yield _digest("text", asked, start)


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]
