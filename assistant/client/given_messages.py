"""The messages that a call of `ChatClient` is given, and the files that are sent with them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from assistant.client.call_settings import Prompt
from assistant.core.values.messages import Message
from assistant.core.values.untrusted import bounded_sources, fenced
from assistant.toolkit import Media


def messages_of(given: Prompt) -> tuple[Message, ...]:
    """Return a prompt as messages. Raises `ValueError` if one is none."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (Message("user", given, id=uuid.uuid4().hex),)
    return tuple(entry if isinstance(entry, Message) else Message.from_wire(entry) for entry in given)


def with_files(messages: tuple[Message, ...], files: Sequence[Media]) -> tuple[Message, ...]:
    """Return the messages with files in the last one, which they mark as untrusted by their names.

    Images are for models that see, texts stand between markers before the message's own.

    Raises:
        ValueError: the last message is not a user's, or a file is neither an image nor text in UTF-8.
    """
    if not files:
        return messages
    if not messages or messages[-1].role != "user":
        raise ValueError("Files are sent with a message of the user.")
    last = messages[-1]
    texts = [_text(file) for file in files if not file.is_image]
    return (
        *messages[:-1],
        replace(
            last,
            content="\n\n".join([*texts, last.content]),
            media=(*last.media, *(file for file in files if file.is_image)),
            sources=bounded_sources((*last.sources, *(file.name for file in files))),
        ),
    )


def _text(file: Media) -> str:
    if not file.media_type.startswith("text/") and file.media_type != "application/json":
        raise ValueError(f"{file.name} is neither an image nor text: extract its text first.")
    try:
        return fenced(f"Name: {file.name}\n\n{file.data.decode()}", "an attached file")
    except UnicodeDecodeError as exc:
        raise ValueError(f"{file.name} is not UTF-8 text.") from exc
