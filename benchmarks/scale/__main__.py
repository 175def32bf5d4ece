"""Prints the table of docs/scale.md: `python -m benchmarks.scale [--simulate]`."""

from __future__ import annotations

import argparse
from statistics import median

from benchmarks.resilience.figures import p95
from benchmarks.scale.constants import read
from benchmarks.scale.machines import Constants, Use, need, table
from benchmarks.scale.simulation import Costs, Crowd, Death, Simulation

MEMBERS = (10_000, 1_000_000, 100_000_000)
# A tenth of a machine's processes, so that a simulation takes seconds: its figures are those of any number of them.
PROCESSES, PLACES, SECONDS = 8, 40, 300


def tables(constants: Constants) -> str:
    """Return the table of machines for the numbers of members in docs/scale.md."""
    return table([need(members, constants) for members in MEMBERS])


def simulate(constants: Constants) -> str:
    """Return a Markdown table: tenants of several sizes, one that asks without end, and a process that dies."""
    use = Use()
    crowds = [
        Crowd(f"tenant {place}", clients, use.tokens, use.rate, use.thinking, pause=30.0, limit=100)
        for place, clients in enumerate((240, 120, 60, 30, 15, 8, 4))
    ]
    flood = Crowd("the flood", clients=400, tokens=use.tokens, rate=use.rate, first_token=use.thinking, limit=100)
    costs = Costs(constants.turn_cpu, constants.token_cpu)
    cases = {
        "seven tenants": (crowds, ()),
        "beside a tenant that asks without end": ([*crowds, flood], ()),
        "and one of eight processes is killed": ([*crowds, flood], (Death(0, SECONDS / 2),)),
    }
    lines = [
        "| Case | runs a minute | wait, p50 | wait, p95 | runs resumed | until their end, the longest |",
        "|---|---|---|---|---|---|",
    ]
    for name, (with_crowds, deaths) in cases.items():
        simulation = Simulation(processes=PROCESSES, places=PLACES, costs=costs, crowds=with_crowds, deaths=deaths)
        seen = simulation.run(SECONDS)
        waits = [wait for crowd in crowds for wait in seen[crowd.name].waits]
        ends = sum(len(one.ends) for one in seen.values())
        resumed = [seconds for one in seen.values() for seconds in one.resumed]
        longest = f"{max(resumed):.0f} s" if resumed else ""
        lines.append(
            f"| {name} | {ends / SECONDS * 60:,.0f} | {median(waits) * 1000:,.0f} ms | {p95(waits) * 1000:,.0f} ms |"
            f" {len(resumed)} | {longest} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulate", action="store_true", help="the table of the simulated queue instead")
    constants = read()
    print(simulate(constants) if parser.parse_args().simulate else tables(constants))


if __name__ == "__main__":
    main()
