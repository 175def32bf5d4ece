"""What a tool returns whose result comes later, from outside: a job elsewhere, or a person who is not in the chat."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from assistant.toolkit.errors import InvalidTool
from assistant.toolkit.text import clean_text

MAX_WAIT = timedelta(days=90)
# Characters of a note; the rest is cut off.
MAX_NOTE = 200


@dataclass(frozen=True, slots=True)
class Pending:
    """The return value of a tool whose result comes later. Only tools with `waits=True` may return it.

    The run ends, and goes on by itself when the result comes to the call's `context.callback`, or the time is over.

    Attributes:
        until: when waiting ends: a datetime with a time zone, or a time from now; 90 days at most.
        note: what is waited for, in a few words for people, such as "the approval of the bank".
        trusted: whether the result is as trustworthy as one that the tool returns itself. Otherwise it counts as text
            that outsiders wrote, as `context.mark_untrusted` says.
        ends_at: `until` as a datetime.

    Raises:
        InvalidTool: `until` has no time zone, has passed, or is too far away.
    """

    until: datetime | timedelta
    note: str = ""
    trusted: bool = False
    ends_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        now = datetime.now(UTC)
        ends_at = now + self.until if isinstance(self.until, timedelta) else self.until
        if ends_at.tzinfo is None:
            raise InvalidTool("Pending: `until` needs a time zone.")
        if not now < ends_at <= now + MAX_WAIT:
            raise InvalidTool(f"Pending: `until` must be within the next {MAX_WAIT.days} days.")
        object.__setattr__(self, "ends_at", ends_at.astimezone(UTC))
        object.__setattr__(self, "note", clean_text(self.note)[:MAX_NOTE])


@dataclass(frozen=True, slots=True)
class Callback:
    """Where the result of one call goes: the token is its only credential, and works once.

    Attributes:
        token: given to the other system, and kept nowhere as it is.
        url: the address for a POST with the token in it, `{"result": ...}` or `{"error": "..."}` as its body. It begins
            with a slash where the site does not know its own address.
    """

    token: str = field(repr=False)
    url: str = field(repr=False)
