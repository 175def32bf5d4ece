"""Which scope of an API key the app's addresses and frames need."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import CHAT, READ, Rule

_CHAT = Rule((CHAT,))
_READ = Rule((READ,))
_CHAT_AND_READ = Rule((CHAT,), also=(READ,))
REST: Mapping[str, Mapping[str, Rule]] = {
    "alarms/": {"GET": _READ},
    # The answers show the label.
    "alarms/<int:number>/done/": {"POST": _CHAT_AND_READ},
    "alarms/<int:number>/snooze/": {"POST": _CHAT_AND_READ},
    # The answers contain the question.
    "schedules/": {"GET": _READ, "POST": _CHAT_AND_READ},
    "schedules/<int:schedule>/": {"GET": _READ, "PATCH": _CHAT_AND_READ, "DELETE": _CHAT},
}
# The answers repeat labels that were set before.
FRAMES: Mapping[str, Rule] = {"alarms": _READ, "alarm": _CHAT}
