"""Prints what came of the reference calls: `python -m benchmarks.compatibility.run [set or category]`."""

from __future__ import annotations

import asyncio
import sys

from benchmarks.compatibility import bfcl, tau2
from benchmarks.compatibility.turns import Tally

HEAD = "| Set | Calls | Contradict their own schema | Refused | Tasks | Different ends |\n|---|---|---|---|---|---|"


async def main(only: str) -> int:
    """Run both sets, or what has `only` in its name. Return how many calls and ends were not as the reference."""
    print(HEAD)
    tallies: list[Tally] = []
    for name, work in (*bfcl.work().items(), *tau2.work().items()):
        if only in name:
            tallies.append(await work())
            print(tallies[-1].line, flush=True)
    wrong = [line for tally in tallies for line in (*tally.refused, *tally.different)]
    contradicting = [line for tally in tallies for line in tally.contradicting]
    print("\nThe reference contradicts its own schema:", *contradicting, "\nNot as the reference:", *wrong, sep="\n")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main("".join(sys.argv[1:]))) else 0)
