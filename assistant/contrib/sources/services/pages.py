"""What readings of folders and websites hand on: a page or a file, and what is known of it from before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from assistant.services.knowledge.files import Content


class SourceFailed(Exception):
    """A source cannot be read at all; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the last readings have kept of a page. Empty texts: it has to be read again."""

    depth: int = 0
    validator: str = ""
    modified: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A source that is read now.

    Attributes:
        known: pages by their addresses.
        read_as: a digest of what its documents depend on besides the pages.
    """

    tenant_id: int
    source_id: int
    kind: str
    place: str
    collection: str
    is_trusted: bool
    max_pages: int
    max_depth: int
    known: dict[str, Known]
    read_as: str
    began_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """A page or a file as it is now.

    Attributes:
        outcome: "read" with its content; "unchanged" since it became a document; "skipped" or "gone", with the reason
            in `about`.
        title: "" for that of its text or its name.
        has_changed: of one that was skipped, whether it is known to be another one than before.
    """

    address: str
    outcome: Literal["read", "unchanged", "skipped", "gone"]
    about: str = ""
    depth: int = 0
    content: Content | None = None
    title: str = ""
    validator: str = ""
    modified: str = ""
    digest: str = ""
    has_changed: bool = False


@dataclass(slots=True)
class Progress:
    """How far a reading has come; `problem` says why it is not complete."""

    problem: str = ""
