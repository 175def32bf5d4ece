"""When a turn asked the model and ran its tools, and what each request cost; numbers and names, never texts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from assistant.core.values.messages import ToolCall, Usage
from assistant.toolkit.text import clean_text

# A turn has as many rounds and calls as its limits allow; more than these are not kept.
MAX_ROUNDS = 100
MAX_CALLS = 300
MAX_LEFT = 20
MAX_NAME = 200
MAX_REASON = 1_000
# The same for a request that was replaced by another one.
MAX_FAILED = 500
MAX_FINISH = 40


class Outcome(Protocol):
    """What is noted of a tool call; `started_at` is None for one that was not run."""

    @property
    def call(self) -> ToolCall: ...

    @property
    def status(self) -> str: ...

    @property
    def started_at(self) -> datetime | None: ...

    @property
    def duration_ms(self) -> int: ...


@dataclass(slots=True)
class Timeline:
    """The rounds and tool calls of one turn. Times are milliseconds since the turn began.

    Attributes:
        rounds: for each request to the model `at`, `ms`, `tools` (how many were offered), and where known `first` (the
            first token), `model`, `finish`, `in`, `out`, `cached`, `written` (to a cache of the provider's), `cost` (in
            millionths of the currency's unit), `repeated`, how many further requests were sent because the provider
            refused a tool, and `failed`, the provider's own reason, if another request followed in its place.
        calls: for each tool call `id`, `name`, `status`, and if it was run `at` and `ms`.
        fallback: the `provider` and `model` that took over, the `reason`, and when (`at`).
        written_calls: how many answers had calls of tools as text, by what became of them: "run" or "failed".
        left: what was not waited for any more (`name`), since when (`at`), and for how long it then went on (`ms`; None
            if it has not ended before the turn): models and functions that were handed in. Tools have their calls.
        error: the `id` of the failure in the log, and the provider's own `reason`, which names statuses and codes.
    """

    rounds: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    error: dict[str, str] = field(default_factory=dict)
    fallback: dict[str, Any] = field(default_factory=dict)
    written_calls: dict[str, int] = field(default_factory=dict)
    left: list[dict[str, Any]] = field(default_factory=list)
    _began: float = field(default_factory=time.perf_counter)
    _began_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _round: dict[str, Any] | None = None

    def begin(self) -> None:
        """Count from now on, and not from when the turn waited in a queue."""
        self._began, self._began_at = time.perf_counter(), datetime.now(UTC)

    def ask(self, *, tools: int) -> None:
        """Begin a round: a request with `tools` tools is sent to the model, or to the one that took over."""
        self.break_off()
        self._round = {"at": self._now(), "tools": tools}
        if self.fallback:
            self._round["model"] = self.fallback["model"]
        if len(self.rounds) < MAX_ROUNDS:
            self.rounds.append(self._round)

    def first_token(self) -> None:
        """Note the round's first token; later calls do nothing."""
        if self._round is not None and "first" not in self._round:
            self._round["first"] = self._now() - self._round["at"]

    def repeated(self, requests: int) -> None:
        """Note how many further requests the round took, because the provider refused a tool."""
        if self._round is not None and requests:
            self._round["repeated"] = requests

    def answered(self, model: str, usage: Usage, finish: str = "") -> None:
        """End the round with what the model has used."""
        if self._round is None:
            return
        self._round |= {
            "model": model,
            "in": usage.input_tokens,
            "out": usage.output_tokens,
            "cached": usage.cached_input_tokens,
            "cost": usage.cost,
        }
        if usage.cache_write_tokens:
            self._round["written"] = usage.cache_write_tokens
        if finish:
            self._round["finish"] = clean_text(finish)[:MAX_FINISH]
        self.break_off()

    def failed(self, reason: str) -> None:
        """Note why the latest request failed; another one follows in its place."""
        self.break_off()
        if self.rounds:
            self.rounds[-1]["failed"] = clean_text(reason)[:MAX_FAILED]

    def fell_back(self, provider: str, model: str, reason: str) -> None:
        """Note that another model took over, and why."""
        self.fallback = {"provider": provider, "model": model, "reason": reason, "at": self._now()}

    def wrote_calls(self, outcome: Literal["run", "failed"]) -> None:
        """Note that an answer had calls of tools as text."""
        self.written_calls[outcome] = self.written_calls.get(outcome, 0) + 1

    def leave(self, name: str) -> Callable[[], None]:
        """Note that something is not waited for any more; return what notes its end, in any thread."""
        since = self._now()
        entry = {"name": clean_text(name)[:MAX_NAME], "at": since, "ms": None}
        if len(self.left) < MAX_LEFT:
            self.left.append(entry)

        def ended() -> None:
            entry["ms"] = self._now() - since

        return ended

    def break_off(self) -> None:
        """End the round that is open, if one is."""
        if self._round is not None:
            self._round["ms"] = self._now() - self._round["at"]
            self._round = None

    def add_calls(self, outcomes: Mapping[str, Outcome]) -> None:
        """Note the outcomes of calls, by their ids."""
        for call_id, outcome in outcomes.items():
            if call_id not in self.calls and len(self.calls) >= MAX_CALLS:
                return
            call = self.calls[call_id] = {"id": call_id, "name": outcome.call.name[:128], "status": outcome.status}
            if outcome.started_at is not None:
                at = round((outcome.started_at - self._began_at).total_seconds() * 1000)
                call |= {"at": max(at, 0), "ms": outcome.duration_ms}

    def new_error(self, reason: str = "") -> str:
        """Note that the turn failed, and why; return a new id, by which the failure is found in the log."""
        self.error = {"id": uuid.uuid4().hex[:12], **({"reason": clean_text(reason)[:MAX_REASON]} if reason else {})}
        return self.error["id"]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values; ends a round that is still open."""
        self.break_off()
        found = {
            "rounds": self.rounds,
            "calls": list(self.calls.values()),
            "error": self.error,
            "fallback": self.fallback,
            "written_calls": self.written_calls,
            "left": [dict(entry) for entry in self.left],
        }
        return {name: value for name, value in found.items() if value}

    def _now(self) -> int:
        return round((time.perf_counter() - self._began) * 1000)
