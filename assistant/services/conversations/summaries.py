"""Summarises the older part of long conversations, so that they fit into an assistant's token limit."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from assistant.core.conversation.paths import WHOLE, Path
from assistant.core.conversation.summary import summarise
from assistant.core.llm.protocol import Model, ModelError
from assistant.core.values.messages import Message, Usage
from assistant.core.values.pricing import Prices
from assistant.core.values.untrusted import HEADING, as_summary, is_summary
from assistant.models import Conversation
from assistant.services.conversations.paths import position_of, shown_path, summarised_to
from assistant.services.conversations.stored_messages import unsummarised_messages
from assistant.services.db.threads import in_database
from assistant.services.limits.usage import add_usage
from assistant.services.run_key import RunKey

logger = logging.getLogger(__name__)


def summary_message(summary: str, sources: Sequence[str]) -> tuple[Message, ...]:
    """Return the system message with a summary, or nothing if there is none.

    Args:
        sources: where untrusted text in what it summarises came from.
    """
    return (as_summary(summary, sources),) if summary else ()


def summary_of(conversation: Conversation, path: Path) -> tuple[str, Sequence[str]]:
    """Return the summary of a path and where untrusted text in it came from; empty ones if it is of another path."""
    is_covered = path is WHOLE or summarised_to(conversation, path)
    return (conversation.summary, conversation.summary_sources) if is_covered else ("", ())


async def summarise_conversation(*, key: RunKey, model: Model, prices: Prices, tokens: int) -> bool:
    """Summarise a conversation, so that it has at most `tokens`. A failing model changes nothing.

    Returns:
        Whether a new summary was stored.
    """
    conversation = await in_database(_conversation, key=key)
    path = shown_path(conversation)
    history = await in_database(unsummarised_messages, conversation=conversation, path=path)
    spent: dict[tuple[str, str], Usage] = {}

    def spend(name: str, usage: Usage) -> None:
        spent[model.provider, name] = spent.get((model.provider, name), Usage()) + prices.priced(
            usage, name, model.name
        )

    try:
        shorter = await summarise(
            model,
            [*summary_message(*summary_of(conversation, path)), *history],
            tokens=tokens,
            on_usage=spend,
        )
    except ModelError as exc:
        logger.warning(
            "Thread %s of tenant %s could not be summarised: %s (%s)", key.thread, key.tenant_id, exc, exc.cause
        )
        return False
    finally:
        if spent:
            await in_database(add_usage, key=key, usage=spent)
    kept = [message for message in shorter if message.role != "system"]
    made = next((one for one in shorter if is_summary(one)), None)
    left_out = [message for message in history if message.id and message.id not in {one.id for one in kept}]
    if made is None or not left_out:
        return False
    return await in_database(_store, key=key, before=conversation, made=made, last=left_out[-1])


def _conversation(*, key: RunKey) -> Conversation:
    return Conversation.objects.get(pk=key.conversation_id, tenant_id=key.tenant_id)


def _store(*, key: RunKey, before: Conversation, made: Message, last: Message) -> bool:
    """Store a summary unless another process stored one since `before` was read; return whether it did.

    Args:
        last: the last message that the summary covers.
    """
    position = position_of(conversation=before, message_id=last.id)
    unchanged = Conversation.objects.filter(
        pk=key.conversation_id, tenant_id=key.tenant_id, summarised_to=before.summarised_to
    )
    return position is not None and bool(
        unchanged.update(
            summary=made.content.removeprefix(HEADING),
            summary_sources=list(made.sources),
            summarised_to=position + 1,
        )
    )
