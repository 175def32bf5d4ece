"""Four workers against one: how many runs they do while the provider lets them wait."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from benchmarks.processes import started
from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.client import connected, run_input
from benchmarks.resilience.sites import POSTGRES, Site
from benchmarks.targets import free_port

TITLE = "Workers"
HOW = (
    "A web process that starts no runs itself (ASSISTANT_RUNS_ON=workers), and one worker or four, each with 25 runs "
    "at once, on PostgreSQL and Redis. The provider waits 20 s, then sends 50 tokens. Half as many clients again as "
    "workers have places ask one question after the other. The runs that end in three minutes count, after the "
    "first 40 s."
)
SCALED, FAILED = "runs a minute with four workers, over those with one", "runs that did not end with the whole answer"
PLACES, MANY = 25, 4
# The bound is for so long; a planted fault shows sooner.
SECONDS, WARM_SECONDS = 180, 40
QUESTION, TOKENS = "[tokens=50 rate=1000 wait=20]", 50
WORK = (
    "import sys, django; django.setup();"
    "from benchmarks.resilience.planting import plant; plant();"
    "from django.core.management import call_command;"
    "call_command('assistant_worker', runs=int(sys.argv[1]), port=int(sys.argv[2]), drain=5)"
)
MIGRATE = (
    "import django; django.setup(); from django.core.management import call_command as c; c('migrate', verbosity=0)"
)


def share_the_places_of_one() -> None:
    """A worker counts the runs of all against its own places."""
    from assistant.models import Run
    from assistant.services.limits import shared_queue
    from assistant.services.tenancy.row_scope import all_tenants

    waiting = shared_queue.waiting_tenants

    @all_tenants()
    def none_above_the_places_of_one() -> Mapping[int, int]:
        is_full = Run.objects.filter(status=Run.Status.RUNNING).count() >= PLACES
        return {} if is_full else waiting()

    from assistant.services.runs.process import dispatcher

    dispatcher.waiting_tenants = none_above_the_places_of_one  # type: ignore[attr-defined]


FAULTS = (Fault("the places of one worker are those of all", SCALED, share_the_places_of_one),)


def measure(testbed: Testbed) -> Sequence[Line]:
    # Three times an answer at least, so that the beginning does not count.
    seconds = testbed.scaled(SECONDS, 60)
    provider_port = free_port()
    command = [sys.executable, "-m", "benchmarks.provider", "--port", str(provider_port)]
    with started(command) as provider:
        url = provider.read_line()
        one, failed_one = _measure(testbed, url, 1, seconds)
        many, failed_many = _measure(testbed, url, MANY, seconds)
    failed = failed_one + failed_many
    rates = f"{many * 60 / seconds:.0f} a minute against {one * 60 / seconds:.0f}"
    return [
        Line(SCALED, many / max(1, one), "times", 3.7, True, beside=rates),
        Line(FAILED, failed.total(), "", 0, beside="; ".join([f"of {one + many}", *failed])),
    ]


def _measure(testbed: Testbed, provider_url: str, workers: int, seconds: int) -> tuple[int, Counter[str]]:
    """Return how many runs ended in `seconds`, and by reason how many of them not with the whole answer."""
    limits = {
        "ASSISTANT_TENANT_LIMITS": "runs=0",
        "ASSISTANT_MEMBER_LIMITS": "runs=0",
        "ASSISTANT_MAX_RUNS": "0",
        "ASSISTANT_RUN_QUEUE_SECONDS": "300",
    }
    with ExitStack() as stack:
        site = stack.enter_context(testbed.site(POSTGRES, provider_url, ASSISTANT_ROLE="web", **limits))
        with started([sys.executable, "-c", MIGRATE], site.env) as migrating:
            migrating.popen.wait(120)
        server = stack.enter_context(testbed.serve(site, ASSISTANT_RUNS_ON="workers"))
        for _ in range(workers):
            stack.enter_context(_worker(site))
        return asyncio.run(_ask(server.port, site, PLACES * workers * 3 // 2, seconds))


@contextmanager
def _worker(site: Site) -> Iterator[None]:
    port = free_port()
    command = [sys.executable, "-c", WORK, str(PLACES), str(port)]
    with started(command, {**site.env, "ASSISTANT_ROLE": "worker"}) as process:
        process.wait_for(f"http://127.0.0.1:{port}/healthz")
        yield


async def _ask(port: int, site: Site, clients: int, seconds: int) -> tuple[int, Counter[str]]:
    begin = time.monotonic() + WARM_SECONDS
    ended: list[bool] = []
    failed: Counter[str] = Counter()

    async def chat(number: int) -> None:
        key = site.keys[number % len(site.keys)]
        async with connected(port, key) as client:
            while True:
                given = run_input(QUESTION)
                await client.send(given)
                end = await client.until_end(given["runId"], timeout=300)
                tokens = sum(frame["delta"].count(" ") for frame in client.frames if frame["type"].endswith("_CONTENT"))
                client.frames.clear()
                client.texts.clear()
                if begin <= time.monotonic() < begin + seconds:
                    is_whole = end["type"] == "RUN_FINISHED" and tokens == TOKENS
                    ended.append(is_whole)
                    if not is_whole:
                        failed[end.get("message", f"{end['type']} after {tokens} tokens")] += 1

    chats = [asyncio.create_task(chat(number)) for number in range(clients)]
    done, _ = await asyncio.wait(chats, timeout=WARM_SECONDS + seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in chats:
        task.cancel()
    await asyncio.gather(*chats, return_exceptions=True)
    for task in done:
        task.result()  # raises what ended it
    return len(ended), failed
