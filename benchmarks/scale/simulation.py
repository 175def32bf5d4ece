"""A discrete simulation of runs: places, the fair queue, the CPU of processes, and processes that die.

The queue is the product's own `RoundRobin`, so that tenants take turns here as they do there. Time is in seconds.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from assistant.services.round_robin import RoundRobin

# Tokens are worked on in portions of this many seconds: one event a token would take longer and change nothing.
PORTION_SECONDS = 1.0
Steps = Generator[simpy.Event, Any, Any]


@dataclass(frozen=True, slots=True)
class Costs:
    """What the parts of a run take in a process.

    Args:
        turn_cpu: seconds of CPU of a turn beside its tokens.
        token_cpu: seconds of CPU of one token.
        opening: seconds until an opened run has reached the provider, and after its end until its place is free.
        lease: seconds after which a run is given up that nobody renews.
        renewal: seconds between renewals.
        look: seconds from the end of a lease to the look for it, at most.
    """

    turn_cpu: float
    token_cpu: float
    opening: float = 0.0
    lease: float = 9.0
    renewal: float = 2.5
    look: float = 0.5


@dataclass(frozen=True, slots=True)
class Crowd:
    """Clients of one tenant. Each asks, reads the whole answer, pauses and asks again.

    Args:
        clients: how many there are.
        tokens: the length of an answer.
        rate: tokens a second.
        first_token: seconds of the provider until the first one.
        pause: mean seconds between an answer and the next question, exponentially distributed; clients begin at
            random moments of the first pause.
        questions: how many each client asks; 0 for as many as it can until the end.
        limit: runs at once of this tenant; 0 for no limit.
    """

    name: str
    clients: int
    tokens: int
    rate: float
    first_token: float = 0.0
    pause: float = 0.0
    questions: int = 0
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Death:
    """A process that is killed: its number, counted from 0, and when."""

    process: int
    at: float


@dataclass(slots=True)
class Seen:
    """What was seen of a tenant's runs, in the order of their ends.

    Attributes:
        waits: seconds from the question to the first token, beside the provider's own.
        ends: when each run ended.
        resumed: seconds from the death of its process to the end of each run that went on elsewhere.
    """

    waits: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    resumed: list[float] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Run:
    crowd: Crowd
    asked_at: float
    is_first: bool = True
    died_at: float = 0.0
    process: _Process | None = None
    done: simpy.Event | None = None


class _Process:
    """A server or worker: one core, and as many runs at once as it has places; 0 for no limit."""

    def __init__(self, world: simpy.Environment, places: int) -> None:
        self.cpu = simpy.Resource(world, capacity=1)
        self.places = places
        self.runs: dict[_Run, simpy.Process] = {}
        self.is_alive = True

    def has_room(self) -> bool:
        return self.is_alive and (not self.places or len(self.runs) < self.places)


class Simulation:
    """Processes that share one queue of runs.

    Args:
        processes: how many there are.
        places: runs at once of each; 0 for no limit.
        seed: of pauses and of the moments at which leases were renewed last.
    """

    def __init__(
        self,
        *,
        processes: int,
        places: int,
        costs: Costs,
        crowds: Sequence[Crowd],
        deaths: Sequence[Death] = (),
        seed: int = 1,
    ) -> None:
        self._world = simpy.Environment()
        self._costs = costs
        self._random = random.Random(seed)
        self._processes = [_Process(self._world, places) for _ in range(processes)]
        self._queue: RoundRobin[str, _Run] = RoundRobin()
        self._running: dict[str, int] = {crowd.name: 0 for crowd in crowds}
        self._limits = {crowd.name: crowd.limit for crowd in crowds}
        self.seen = {crowd.name: Seen() for crowd in crowds}
        for crowd in crowds:
            for _ in range(crowd.clients):
                self._world.process(self._client(crowd))
        for death in deaths:
            self._world.process(self._die(death))

    def run(self, seconds: float) -> dict[str, Seen]:
        """Return what was seen of each tenant in so many seconds."""
        self._world.run(until=seconds)
        return self.seen

    def _client(self, crowd: Crowd) -> Steps:
        asked = 0
        yield self._world.timeout(self._random.uniform(0, crowd.pause))
        while not crowd.questions or asked < crowd.questions:
            asked += 1
            run = _Run(crowd, self._world.now, done=self._world.event())
            self._queue.add(crowd.name, run)
            self._start_runs()
            assert run.done is not None
            yield run.done
            if crowd.pause:
                yield self._world.timeout(self._random.expovariate(1 / crowd.pause))

    def _start_runs(self) -> None:
        """Start queued runs, tenants in turn, each in the process with the fewest runs of those with room."""
        while True:
            free = [process for process in self._processes if process.has_room()]
            name = next((key for key in self._queue if self._may_start(key)), None)
            if not free or name is None:
                return
            run = self._queue.of(name)[0]
            self._queue.remove(name, run)
            self._running[name] += 1
            process = min(free, key=lambda one: len(one.runs))
            run.process = process
            process.runs[run] = self._world.process(self._answer(run, process))

    def _may_start(self, name: str) -> bool:
        return not self._limits[name] or self._running[name] < self._limits[name]

    def _answer(self, run: _Run, process: _Process) -> Steps:
        crowd, costs = run.crowd, self._costs
        try:
            yield from self._work(process, costs.turn_cpu)
            yield self._world.timeout(costs.opening + crowd.first_token)
            if run.is_first:
                self.seen[crowd.name].waits.append(self._world.now - run.asked_at - crowd.first_token)
                run.is_first = False
            left = float(crowd.tokens)
            while left > 0:
                portion = min(left, PORTION_SECONDS * crowd.rate)
                began = self._world.now
                yield from self._work(process, portion * costs.token_cpu)
                # A process that is too busy sends tokens later than the provider does.
                yield self._world.timeout(max(0.0, portion / crowd.rate - (self._world.now - began)))
                left -= portion
            yield self._world.timeout(costs.opening)
        except simpy.Interrupt:
            return
        self._leave(run)
        seen = self.seen[crowd.name]
        seen.ends.append(self._world.now)
        if run.died_at:
            seen.resumed.append(self._world.now - run.died_at)
        assert run.done is not None
        run.done.succeed()

    def _work(self, process: _Process, seconds: float) -> Steps:
        with process.cpu.request() as mine:
            yield mine
            yield self._world.timeout(seconds)

    def _leave(self, run: _Run) -> None:
        assert run.process is not None
        del run.process.runs[run]
        self._running[run.crowd.name] -= 1
        self._start_runs()

    def _die(self, death: Death) -> Steps:
        yield self._world.timeout(death.at)
        process = self._processes[death.process]
        process.is_alive = False
        for run, task in list(process.runs.items()):
            task.interrupt()
            run.died_at = self._world.now
            self._world.process(self._resume(run))

    def _resume(self, run: _Run) -> Steps:
        """Queue a run again once its lease has expired and another process has looked for such runs."""
        left = self._costs.lease - self._random.uniform(0, self._costs.renewal)
        yield self._world.timeout(left + self._random.uniform(0, self._costs.look))
        assert run.process is not None
        del run.process.runs[run]
        self._running[run.crowd.name] -= 1
        self._queue.add(run.crowd.name, run)
        self._start_runs()
