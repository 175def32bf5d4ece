"""Marks messages as untrusted again when a caller that keeps its own history sends them back.

Such a caller sends the texts of earlier answers and the calls of its own tools, without the sources of untrusted text
in them. Marked messages are therefore stored with a digest of the part that a caller can send back: of a text its
beginning, which stays the same if the answer was stopped early, or changed further down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from assistant.core.values.messages import Message
from assistant.models import Conversation
from assistant.models import Message as MessageRow
from assistant.services.conversations.paths import on_path, shown_path
from assistant.services.run_key import RunKey

# Of the first paragraph of a marked text. An answer that was stopped before that comes back without a mark.
START_CHARACTERS = 16


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
        return digest_of("result", message.tool_call_id)
    # Callers see the calls of their own tools only, which have no result in the run.
    own = [call.id for call in message.tool_calls if call.id not in answered]
    if own:
        return digest_of("call", own[0])
    return next(text_digests(asked, message.content), "")


def text_digests(asked: str, text: str) -> Iterator[str]:
    """Yield the digest of the beginning of each paragraph of an answer to a message.

    Of each, because the texts of one run come back as one, and not all of them need be marked; with what was asked,
    because answers begin alike.
    """
    asked = " ".join(asked.split())
    for paragraph in text.replace("\r\n", "\n").split("\n\n"):
        if start := " ".join(paragraph.split())[:START_CHARACTERS]:
            yield digest_of("text", asked, start)


def digest_of(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]
