"""Limits of a run, set on its assistant: the run is stopped at the limit, and the next run is admitted."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.resilience.client import Client, connected, run_of
from benchmarks.resilience.limits.seen import ABOVE, BELOW, LIMIT, UNTRUE, UNTYPED, Seen, named
from benchmarks.resilience.sites import Server, Site
from tests.fake_answers import Answer, Recorded, reply
from tests.fake_provider import FakeProvider

# Without a limit the model stops by itself, some rounds above every limit.
GOES_ON, TALKS_ON = "Go on and on", "Talk on and on"
CALLS_ONCE = "Use a tool"
ROUNDS = LIMIT + 3
SECONDS, LATE_SECONDS = 2, 2.0
USAGE = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}


@dataclass(frozen=True, slots=True)
class Case:
    """One limit.

    Args:
        column: its column in the assistant's row.
        number: its value.
        says: part of the message of its refusal.
        counts_calls: whether it counts tool calls; else requests to the model.
    """

    column: str
    number: float
    says: str
    counts_calls: bool = False


CASES = (
    Case("max_rounds", LIMIT, f"its limit of {LIMIT} model calls"),
    Case("max_tool_calls", LIMIT, f"its limit of {LIMIT} tool calls", counts_calls=True),
    Case("max_calls_per_tool", LIMIT, f"may be called {LIMIT} times in one run", counts_calls=True),
    Case("max_tokens", 100 * LIMIT, f"its limit of {100 * LIMIT} tokens"),
    Case("max_cost", LIMIT / 100, f"its limit of {LIMIT / 100:g} of cost"),
)
SLOW = Case("max_seconds", SECONDS, f"its limit of {SECONDS} seconds")


def answer(request: Recorded) -> Answer:
    """Call a tool once or repeatedly, or talk for longer than a run may take, as the prompt asks."""
    said = [at for at, message in enumerate(request.messages) if message["role"] == "user"][-1]
    text, rounds = str(request.messages[said]["content"]), sum(m["role"] == "tool" for m in request.messages[said:])
    if text.startswith(TALKS_ON):
        return reply(chunks=[f"word{n} " for n in range(60)], delay=0.1, usage=USAGE)(request)
    most = ROUNDS if text.startswith(GOES_ON) else int(text == CALLS_ONCE)
    calls = [("add", {"a": rounds, "b": 2})] if rounds < most else ()
    return reply("" if calls else "Well.", calls=calls, usage=USAGE)(request)


async def try_runs(site: Site, servers: Sequence[Server], provider: FakeProvider, seen: Seen) -> None:
    """Start a run above each limit, and then one below it."""
    async with connected(servers[0].port, site.keys[0]) as client:
        for case in CASES:
            _set(site, case)
            await _go_on(client, provider, case, named(site, case.column), seen)
        _set(site, SLOW)
        await _talk_on(client, named(site, SLOW.column), seen)
    _set(site)
    seen.limits += len(CASES) + 1


def _set(site: Site, *cases: Case) -> None:
    """Set one limit by SQL, and remove the others."""
    numbers = dict.fromkeys((case.column for case in (*CASES, SLOW)), 0.0) | {one.column: one.number for one in cases}
    site.database.run(
        f"UPDATE assistant_assistant SET {', '.join(f'{name} = %s' for name in numbers)}", *numbers.values()
    )


async def _go_on(client: Client, provider: FakeProvider, case: Case, name: str, seen: Seen) -> None:
    text, thread = f"{GOES_ON} {uuid.uuid4()}", str(uuid.uuid4())
    began, end = len(client.frames), await client.ask(text, thread=thread)
    frames = [frame for frame in client.frames[began:] if run_of(frame) == run_of(end)]
    results = [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"]
    refused = [one for one in results if one.startswith("Not run: ")]
    asked = sum(any(message["content"] == text for message in one.messages) for one in provider.requests)
    done = len(results) - len(refused) if case.counts_calls else asked
    seen.tries += ROUNDS
    seen.wrong[ABOVE][name] += max(0, done - LIMIT)
    seen.wrong[BELOW][name] += max(0, LIMIT - done)
    # The limit of one tool is reported to the model, which may still answer.
    is_typed = end["type"] == "RUN_FINISHED" if "per_tool" in case.column else end.get("code") == "limit_reached"
    seen.wrong[UNTYPED][name] += not (is_typed and case.says in " ".join([*refused, end.get("message", "")]))
    await _is_free(client, thread, name, seen)


async def _talk_on(client: Client, name: str, seen: Seen) -> None:
    thread, began = str(uuid.uuid4()), time.monotonic()
    end = await client.ask(TALKS_ON, thread=thread)
    seconds = time.monotonic() - began
    seen.tries += 1
    seen.wrong[ABOVE][name] += seconds > SECONDS + LATE_SECONDS
    seen.wrong[BELOW][name] += seconds < SECONDS
    seen.wrong[UNTYPED][name] += not (end.get("code") == "limit_reached" and SLOW.says in end["message"])
    await _is_free(client, thread, name, seen)


async def _is_free(client: Client, thread: str, name: str, seen: Seen) -> None:
    """Check that the next run starts with fresh limits."""
    seen.tries += 1
    seen.wrong[UNTRUE][name] += (await client.ask("Hello", thread=thread))["type"] != "RUN_FINISHED"
