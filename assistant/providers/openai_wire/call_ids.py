"""The ids and names under which earlier calls are sent in a request."""

from __future__ import annotations

import re

from assistant.core.values.messages import ToolCall
from assistant.providers.profiles.profile import Profile

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


class CallIds:
    """The ids of calls in one request, by the ids under which the conversation has them."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._sent: dict[str, str] = {}
        self._taken: set[str] = set()

    def of_call(self, call: ToolCall, own: str) -> str:
        """Return the id of a call; `own` is the one that its provider gave it, if that goes back."""
        sent = own or self._profile.call_id(call, 0)
        if sent in self._taken:
            sent = self._profile.call_id(call, 0)
            number = len(self._taken)
            while sent in self._taken:
                sent = self._profile.call_id(call, number)
                number += 1
        self._taken.add(sent)
        self._sent[call.id] = sent
        return sent

    def of_result(self, call_id: str) -> str:
        """Return the id of the call that a result belongs to."""
        return self._sent.get(call_id) or self._profile.call_id(ToolCall(call_id, "", ""), 0)


def sent_name(call: ToolCall) -> str:
    """Return a call's name as providers accept it: they refuse some of the names that models invent."""
    return call.name if _NAME.fullmatch(call.name) else _NOT_IN_NAMES.sub("_", call.name)[:64]
