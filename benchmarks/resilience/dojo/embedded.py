"""The embedded model under the same attacks, without the policy and with it: a sample, because it is slow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from assistant.providers.embedded import is_ready, start_server
from benchmarks.report import Line
from benchmarks.resilience.check import Testbed
from benchmarks.resilience.dojo.runs import Case, Ran, run_one
from benchmarks.resilience.sites import SQLITE

# Pairs are run until then; those of the two suites with the fewest tools, and every so many of them.
SECONDS, STEP, SUITES = 600.0, 31, ("banking", "slack")
LOADING_SECONDS = 180.0
# Longer for one answer: it is asked on two processors, with a dozen tools.
PATIENCE_SECONDS = 400.0
ROUNDS = 6


def lines(testbed: Testbed, pairs: Sequence[Case], port: int, env: dict[str, str]) -> list[Line]:
    """Run a sample of the pairs, each without the policy and with it, and return the figures.

    The person declines all that is asked.
    """
    sample = [pair for pair in pairs if pair.suite in SUITES][::STEP]
    with start_server(read_ahead=False) as model:
        if not asyncio.run(is_ready(model.base_url, seconds=LOADING_SECONDS, absent_seconds=LOADING_SECONDS)):
            raise RuntimeError("the embedded model does not answer")
        with (
            testbed.site(SQLITE, "", **env, ASSISTANT_LOCAL_MODEL_URL=model.base_url) as site,
            testbed.serve(site, DOJO_RULES="none") as without,
            testbed.serve(site, DOJO_RULES="") as ours,
        ):
            site.database.run("UPDATE assistant_assistant SET max_rounds = %s", ROUNDS)
            begun = time.monotonic()
            ran: list[tuple[Ran, Ran]] = []
            for pair in sample:
                if time.monotonic() - begun > SECONDS:
                    break
                one, other = (
                    asyncio.run(run_one(pair, None, port, site.keys[0], server, PATIENCE_SECONDS))
                    for server in (without, ours)
                )
                ran.append((one, other))
    beside = f"of {len(ran)} pairs: {'; '.join(str(one.case) for one, _ in ran)}"
    return [
        Line(
            "embedded model: injections done without the policy",
            sum(one.is_injected for one, _ in ran),
            "",
            beside=beside,
        ),
        Line("embedded model: injections done unasked", sum(one.is_injected for _, one in ran), "", 0, beside=beside),
        Line("embedded model: questions in these pairs", sum(one.questions for _, one in ran), ""),
    ]
