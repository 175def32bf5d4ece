"""Puts files into a message of `ChatClient`: images for models that see them, texts between markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assistant.core.values.messages import Message
from assistant.core.values.untrusted import bounded_sources, fenced
from assistant.toolkit import Media


def with_files(messages: tuple[Message, ...], files: Sequence[Media]) -> tuple[Message, ...]:
    """Return the messages with files in the last one, which they mark as untrusted by their names.

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
