"""That a tool is switched off for everyone: why, and until when, as members and the model are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from assistant.toolkit.translation import gettext, gettext_noop

_OFF_UNTIL = gettext_noop("Switched off until %(until)s: %(reason)s.")
_OFF = gettext_noop("Switched off: %(reason)s.")
# Tools that were not called and that the model is told of: a deployment may switch hundreds off.
MAX_NOT_CALLED = 20


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """Why operators have switched a tool off, in their words for members, and until when.

    `until` None is until it is switched on again.
    """

    reason: str
    until: datetime | None = None

    @property
    def for_model(self) -> str:
        """The sentence that the model and programs read."""
        return self._in(_OFF_UNTIL, _OFF)

    @property
    def for_people(self) -> str:
        """The sentence in the language of the person who is being answered; pages show its time in theirs."""
        return self._in(gettext(_OFF_UNTIL), gettext(_OFF))

    def _in(self, with_end: str, without: str) -> str:
        reason = self.reason.rstrip(".")
        if self.until is None:
            return without % {"reason": reason}
        return with_end % {"until": f"{self.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", "reason": reason}


def note_of_tools_off(off: Mapping[str, SwitchedOff], called: Iterable[str]) -> str:
    """Return what the model is told about tools that are off now, in the words that people read; empty if none are.

    Without it the model would say that it never had them. Of those that were not `called` earlier in the conversation
    the first `MAX_NOT_CALLED` are named.
    """
    earlier = [name for name in dict.fromkeys(called) if name in off]
    others = [name for name in off if name not in earlier][:MAX_NOT_CALLED]
    parts = (
        ("Tools that were called earlier in this conversation and cannot be called now:", earlier),
        ("Tools that cannot be called now, and otherwise could be:", others),
    )
    lines = [
        line
        for heading, names in parts
        if names
        for line in (heading, *(f"- {name}: {off[name].for_model}" for name in names))
    ]
    return "\n".join(lines)
