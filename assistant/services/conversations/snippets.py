"""Where in its messages a conversation mentions what was searched for."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace

from django.db.models import OuterRef, Subquery

from assistant.models import Conversation, Message
from assistant.services.conversations.conversations import MAX_SEARCH, contains
from assistant.services.tenancy.members import Member
from assistant.toolkit.text import clean_text

# Of Markdown: what begins a line, and what stands around words.
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6} |>[ >]*|[-*+] |```.*$|\|?[ :|-]+\|[ :|-]*$)", re.MULTILINE)
_MARKS = re.compile(r"\*\*|__|[`|]|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|\]\([^)\s]*\)|\[(?=\w)")
# Characters before and after the words.
BEFORE, AFTER = 30, 90


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a message: the text before the words that were searched for, the words, and the text after them."""

    before: str
    words: str
    after: str
    message_id: str = ""


def snippets_of(*, member: Member, conversations: Collection[uuid.UUID], search: str) -> dict[uuid.UUID, Snippet]:
    """Return a snippet of each of a member's conversations of which a message contains what was searched for."""
    words = clean_text(search)[:MAX_SEARCH].strip()
    if not words or not conversations:
        return {}
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    messages = Message.objects.filter(
        contains("content", words),
        conversation=OuterRef("pk"),
        conversation__tenant_id=member.tenant_id,
        role__in=["user", "assistant"],
        is_superseded=False,
    )
    newest = messages.order_by("-position")
    found = own.filter(pk__in=conversations).annotate(
        text=Subquery(newest.values("content")[:1]), message=Subquery(newest.values("message_id")[:1])
    )
    texts = found.exclude(text=None).values_list("pk", "text", "message")
    return {pk: replace(snippet_of(text, words), message_id=message_id) for pk, text, message_id in texts}


def snippet_of(text: str, words: str) -> Snippet:
    """Return the first place of `words` in a Markdown text, on one line, without its marks if the words have none."""
    wanted = " ".join(words.split())
    plain = " ".join(_MARKS.sub("", _LINE_MARKS.sub("", text)).split())
    line = plain if wanted.casefold() in plain.casefold() else " ".join(text.split())
    folded = line.casefold()
    at = folded.find(wanted.casefold())
    if at < 0 or len(folded) != len(line):  # case folding has changed the positions
        return Snippet("", "", line[: BEFORE + AFTER])
    end = at + len(wanted)
    start = max(0, at - BEFORE)
    before, after = line[start:at], line[end : end + AFTER]
    return Snippet(f"…{before}" if start else before, line[at:end], f"{after}…" if len(line) > end + AFTER else after)
