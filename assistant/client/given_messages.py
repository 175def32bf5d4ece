"""The messages that a call of `ChatClient` is given: its prompts, with their values, and the files sent with them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.client.call_settings import Prompt
from assistant.client.prompts import PromptTemplate, filled
from assistant.client.wire_messages import message_of, text_of_file
from assistant.core.values.messages import Message
from assistant.core.values.untrusted import bounded_sources, is_summary
from assistant.toolkit import Media


def messages_of(given: Prompt) -> tuple[Message, ...]:
    """Return a prompt as messages, given as such or as the openai package writes them.

    Raises:
        TypeError: it is neither a text nor a list.
        ValueError: a message is none.
    """
    if given is None:
        return ()
    if isinstance(given, PromptTemplate):
        given = given.fill()
    if isinstance(given, str):
        return (Message("user", given, id=uuid.uuid4().hex),)
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise TypeError(f"A message is a text, a PromptTemplate or a list of messages, not {type(given).__name__}.")
    found: list[Message] = []
    for message in filter(None, map(message_of, given)):
        # Responses have an item for each call of an answer, where a message has them all.
        if message.role == "assistant" and found and _continues(found[-1], message):
            found[-1] = replace(found[-1], tool_calls=(*found[-1].tool_calls, *message.tool_calls))
        else:
            found.append(message)
    return tuple(found)


def history_of(given: object) -> tuple[Message, ...]:
    """Return the history of a call as messages.

    Raises:
        TypeError: it is no list, such as a text or a reply.
        ValueError: a message is none.
    """
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise TypeError(
            f"history is a list of messages, such as reply.messages, not {type(given).__name__}. "
            "What is asked now is the message of the call."
        )
    return messages_of(given)


def filled_prompts(
    system: str | PromptTemplate, message: Prompt, variables: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[str, Prompt]:
    """Return the system prompt and the message with the values of their variables, as `filled` does."""
    templates = [PromptTemplate(system) if isinstance(system, str) else system]
    if isinstance(message, PromptTemplate):
        templates.append(message)
    texts = filled(templates, variables, defaults)
    return texts[0], texts[1] if isinstance(message, PromptTemplate) else message


def with_system(messages: tuple[Message, ...], system: str) -> tuple[Message, ...]:
    """Return the messages after the system prompt, unless they begin with one of their own."""
    if not system or (messages[0].role == "system" and not is_summary(messages[0])):
        return messages
    return (Message("system", system), *messages)


def _continues(before: Message, message: Message) -> bool:
    return before.role == "assistant" and bool(message.tool_calls) and not (message.content or message.id)


def with_files(messages: tuple[Message, ...], files: Sequence[Media]) -> tuple[Message, ...]:
    """Return the messages with files in the last one, which they mark as untrusted by their names.

    Images are for models that see, and PDFs for those that read them; texts stand between markers before the message's
    own. The `description` of a PDF is what other models read of it.

    Raises:
        ValueError: the last message is not a user's, or a file is no image, PDF or text in UTF-8.
    """
    if not files:
        return messages
    if not messages or messages[-1].role != "user":
        raise ValueError("Files are sent with a message of the user.")
    last = messages[-1]
    texts = [text_of_file(file) for file in files if not (file.is_image or file.is_pdf)]
    return (
        *messages[:-1],
        replace(
            last,
            content="\n\n".join([*texts, last.content]),
            media=(*last.media, *(file for file in files if file.is_image or file.is_pdf)),
            sources=bounded_sources((*last.sources, *(file.name for file in files))),
        ),
    )
