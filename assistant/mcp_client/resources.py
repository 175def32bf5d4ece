"""Resources and prompts that an external server lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """A resource that a server lists; `description` and names are text from outside.

    Attributes:
        uri: its address, for `read`; of a template, with variables such as `docs://{name}`.
        is_template: whether the address has to be filled in.
        size: in bytes; None if the server does not say.
    """

    uri: str
    name: str
    title: str = ""
    description: str = ""
    media_type: str = ""
    size: int | None = None
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class PromptParameter:
    """A text that a server's prompt is filled in with."""

    name: str
    description: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """A prompt that a server lists; its texts are from outside."""

    name: str
    title: str = ""
    description: str = ""
    parameters: tuple[PromptParameter, ...] = ()
