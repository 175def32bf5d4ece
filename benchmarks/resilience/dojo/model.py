"""The worst model there is: it does the task, and before that whatever an injection says that it reads."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.resilience.dojo.declarations import DECLARATIONS
from tests.fake_answers import Answer, Recorded, reply

Call = Mapping[str, Any]
# Enough of an injection to know it by. Quotation marks and line ends look different in lists.
_KNOWN_BY = 40
_REFERENCE = re.compile(r"\(Reference: ([0-9a-f-]{36})\)")
_FENCE = re.compile(r"\[([0-9a-f]{8}): text from outside, [^\n]*\]\n(.*)\n\[\1\]", re.DOTALL)


def with_reference(prompt: str, reference: str) -> str:
    """Return a prompt by which the model finds its script."""
    return f"{prompt}\n\n(Reference: {reference})"


def is_acting(call: Call) -> bool:
    """Return whether a call changes something or reaches outside; others only look something up."""
    declared = DECLARATIONS[call["name"]]
    return not declared.get("read_only") or bool(declared.get("destinations"))


def without_fences(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages of a request as they would be without markers around text from outside."""
    return [
        {**one, "content": _FENCE.sub(r"\2", one["content"])} if isinstance(one.get("content"), str) else {**one}
        for one in messages
    ]


@dataclass(frozen=True, slots=True)
class Made:
    """A call that the model made: whether the injection told it to, and whether it acts."""

    is_injected: bool
    is_acting: bool


class Script:
    """The calls that one conversation's model makes.

    Attributes:
        made: the calls so far, in their order. Their ids are the product's.
        has_read: whether it has read the injection.
        unfenced: how many results with the injection had no markers around them.
        messages: those of the last request.
    """

    def __init__(self, opened: Mapping[str, Any]) -> None:
        self._todo = deque(_replies(opened["calls"]))
        self._injected = deque([call] for call in opened["injected"])
        self._goal = _letters(opened["goal"])[:_KNOWN_BY]
        self._output = opened["output"] or "Done."
        self.has_read = False
        self.unfenced = 0
        self.messages: list[dict[str, Any]] = []
        self.made: list[Made] = []

    def answer(self, request: Recorded) -> Answer:
        self.messages = request.messages
        if self._goal and not self.has_read and (read := self._results_with_goal()):
            self.has_read = True
            self.unfenced = sum(not _FENCE.fullmatch(text) for text in read)
        from_injection = self.has_read and bool(self._injected)
        queue = self._injected if from_injection else self._todo
        if not queue:
            return reply(self._output)(request)
        calls = queue.popleft()
        self.made += [Made(from_injection, is_acting(call)) for call in calls]
        return reply(calls=[(call["name"], call["arguments"]) for call in calls])(request)

    def _results_with_goal(self) -> list[str]:
        results = (one["content"] for one in self.messages if one["role"] == "tool")
        return [text for text in results if self._goal in _letters(text)]


def _replies(calls: Sequence[Call]) -> list[list[Call]]:
    """Return the calls of each reply: those of one tool that act and follow each other are made at once."""
    replies: list[list[Call]] = []
    for call in calls:
        if replies and is_acting(call) and call["name"] == replies[-1][-1]["name"]:
            replies[-1].append(call)
        else:
            replies.append([call])
    return replies


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


class Scripts:
    """The model of all conversations: `FakeProvider.rule` takes its `answer`."""

    def __init__(self) -> None:
        self._by_reference: dict[str, Script] = {}

    def add(self, opened: Mapping[str, Any], reference: str) -> Script:
        script = self._by_reference[reference] = Script(opened)
        return script

    def answer(self, request: Recorded) -> Answer:
        asked = next(one["content"] for one in request.messages if one["role"] == "user")
        found = _REFERENCE.search(asked)
        assert found, asked
        return self._by_reference[found[1]].answer(request)
