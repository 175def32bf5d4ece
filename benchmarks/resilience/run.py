"""Runs the checks, each also with its planted faults: `python -m benchmarks.resilience.run [--only kills]`.

Exit code 1 if a goal was missed, or if a planted fault was not caught.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.report import Line
from benchmarks.resilience.check import Check, Fault, Testbed, find_checks
from benchmarks.resilience.report import Caught, Outcome, document, show
from benchmarks.resilience.services import Services

RESULTS = Path(__file__).parent / "results.md"
# Few tries are enough to show a planted fault.
PLANTED_SCALE = 0.1
# Long enough on a busy machine.
PATIENCE_SECONDS, EMBEDDED_SECONDS = 1800, 1800


def main() -> int:
    checks = find_checks()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="CHECK", choices=list(checks), help=f"of {', '.join(checks)}")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the tries that the goals apply to")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--planted", action="store_true", help="only with the planted faults")
    which.add_argument("--no-planted", action="store_true", help="only without the planted faults")
    parser.add_argument("--embedded", action="store_true", help="with the embedded model too: ten minutes more")
    options = parser.parse_args()
    # So that the services and servers are stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGALRM, _too_long)
    chosen = {name: check for name, check in checks.items() if not options.only or name in options.only}
    is_whole = not (options.planted or options.no_planted) and options.scale == 1
    outcomes: list[Outcome] = []
    with Services() as services:
        testbed = Testbed(services, options.scale, embedded=options.embedded)
        for name, check in chosen.items():
            outcome, load = Outcome(name, check.TITLE, check.HOW), os.getloadavg()[0]
            if not options.planted:
                outcome.lines, outcome.seconds = _measured(check, testbed)
            if not options.no_planted:
                outcome.caught = [_caught(check, testbed, fault) for fault in check.FAULTS]
            outcomes.append(outcome)
            print(show(outcome), flush=True)
            if is_whole:  # at once, so that an interrupted run keeps what it measured
                outcome.keep((load, os.getloadavg()[0]))
                RESULTS.write_text(document(list(checks)))
    return _conclude(outcomes)


def _too_long(*_: object) -> None:
    raise TimeoutError("it took too long")


def _measured(check: Check, testbed: Testbed) -> tuple[Sequence[Line], float]:
    """Return the figures, and the seconds that they took; a check that raises has missed a goal."""
    start = time.monotonic()
    signal.alarm(PATIENCE_SECONDS + EMBEDDED_SECONDS * testbed.embedded)
    try:
        lines = list(check.measure(testbed))
    except Exception as exc:
        traceback.print_exc()
        why = f"{type(exc).__name__}: {str(exc).splitlines()[0] if str(exc) else ''}"
        lines = [Line("measured completely", 0.0, "", 1, True, beside=why)]
    finally:
        signal.alarm(0)
    return lines, time.monotonic() - start


def _caught(check: Check, testbed: Testbed, fault: Fault) -> Caught:
    """Run a check with a planted fault: the figure that the fault names must be missed."""
    lines, _ = _measured(check, replace(testbed, scale=min(testbed.scale, PLANTED_SCALE), fault=fault, embedded=False))
    line = next((line for line in lines if line.what == fault.misses), None)
    if line is None:
        return Caught(fault.what, fault.misses, "not measured", False)
    return Caught(fault.what, fault.misses, line.cells()[1], line.verdict == "missed")


def _conclude(outcomes: Sequence[Outcome]) -> int:
    goals = [line for outcome in outcomes for line in outcome.lines if line.goal is not None]
    missed = [line for line in goals if line.verdict == "missed"]
    planted = [caught for outcome in outcomes for caught in outcome.caught]
    slipped = [caught for caught in planted if not caught.is_caught]
    print(f"\n{len(goals) - len(missed)} of {len(goals)} goals held, {len(missed)} MISSED")
    print(f"{len(planted) - len(slipped)} of {len(planted)} planted faults caught")
    for line in missed:
        print(f"  missed: {line.what}: {' '.join(line.cells()[1:3])}")
    for caught in slipped:
        print(f"  not caught: {caught.what}: {caught.figure} was {caught.value}")
    return 1 if missed or slipped else 0


if __name__ == "__main__":
    sys.exit(main())
