"""The checks of `make resilience`, which take minutes and run elsewhere: none of them can pass by checking nothing."""

from __future__ import annotations

import importlib

import pytest

from benchmarks.resilience.check import Check, found

CHECKS = found()


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_check_plants_a_fault_that_it_must_catch(check: Check) -> None:
    assert check.TITLE and check.HOW and check.FAULTS
    for fault in check.FAULTS:
        assert fault.what and fault.misses
        if fault.plant is not None:
            module, _, function = fault.name.partition(":")
            assert getattr(importlib.import_module(module), function) is fault.plant
