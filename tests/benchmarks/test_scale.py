"""The simulation of many processes, where the result can be computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.scale.machines import Constants, Use, need
from benchmarks.scale.simulation import Costs, Crowd, Death, Simulation

pytestmark = pytest.mark.pure
FREE = Costs(turn_cpu=0.0, token_cpu=0.0)
ASKING = Crowd("a", clients=1, tokens=100, rate=50)
CONSTANTS = Constants(
    turn_cpu=0.01, token_cpu=0.0001, socket_bytes=30e3, socket_cpu=5e-6, run_bytes=200e3, process_bytes=100e6,
    redis_commands=1.0, redis_bytes=500.0, redis_cpu=1e-5, transactions=5.0, database_cpu=0.004, database_bytes=12e3,
)  # fmt: skip


def test_a_run_takes_as_long_as_its_tokens() -> None:
    seen = Simulation(processes=1, places=0, costs=FREE, crowds=[replace(ASKING, questions=3)]).run(60)

    assert seen["a"].ends == pytest.approx([2, 4, 6])


def test_runs_above_the_places_wait() -> None:
    seen = Simulation(processes=2, places=1, costs=FREE, crowds=[replace(ASKING, clients=4, questions=1)]).run(60)

    assert seen["a"].ends == pytest.approx([2, 2, 4, 4])
    assert seen["a"].waits == pytest.approx([0, 0, 2, 2])


def test_a_tenant_at_its_limit_leaves_places_to_others() -> None:
    crowds = [replace(ASKING, clients=10, questions=1, limit=1), replace(ASKING, name="b", questions=1)]

    seen = Simulation(processes=1, places=2, costs=FREE, crowds=crowds).run(60)

    assert seen["b"].waits == pytest.approx([0])
    assert seen["a"].ends[-1] == pytest.approx(20)


def test_tenants_take_turns() -> None:
    crowds = [replace(ASKING, clients=20, questions=1), replace(ASKING, name="b", clients=2, questions=1)]

    seen = Simulation(processes=1, places=1, costs=FREE, crowds=crowds).run(100)

    # The crowd, which asked first, has its turn before each of them; its first run never waited.
    assert seen["b"].ends == pytest.approx([6, 10])


def test_a_core_works_on_one_run_at_a_time() -> None:
    busy = Costs(turn_cpu=0.0, token_cpu=1 / 50)

    seen = Simulation(processes=1, places=0, costs=busy, crowds=[replace(ASKING, clients=3, questions=1)]).run(60)

    # Three answers of 100 tokens, of which a core makes 50 a second.
    assert seen["a"].ends[-1] == pytest.approx(6)


def test_runs_of_a_dead_process_go_on_in_another_after_their_lease() -> None:
    costs = replace(FREE, lease=15, renewal=5, look=5)
    crowds = [replace(ASKING, clients=2, questions=1)]

    seen = Simulation(processes=2, places=0, costs=costs, crowds=crowds, deaths=[Death(0, at=1.0)]).run(60)

    assert len(seen["a"].ends) == 2
    (seconds,) = seen["a"].resumed
    # The lease's rest, the wait for the next look, and the answer again.
    assert 15 - 5 + 2 <= seconds <= 15 + 5 + 2


def test_machines_grow_with_members_and_their_use() -> None:
    million = need(1_000_000, CONSTANTS)
    twice = need(1_000_000, CONSTANTS, Use(online=0.2))

    assert million.turns == pytest.approx(1_000_000 * 0.1 / 300)
    assert million.runs == pytest.approx(million.turns * (400 / 50 + 2))
    assert million.cores == pytest.approx(million.turns * (0.01 + 400 * 0.0001) + 100_000 * 5e-6)
    assert twice.cores == pytest.approx(2 * million.cores)
    assert need(10_000, CONSTANTS).machines == 1
