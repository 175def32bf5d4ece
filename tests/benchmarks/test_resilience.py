"""The checks of `make resilience`, which take minutes and run elsewhere: none of them can pass by checking nothing."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from pathlib import Path

import pytest

from benchmarks.report import Line
from benchmarks.resilience import checks, report
from benchmarks.resilience.check import Check, find_checks
from benchmarks.resilience.proxy import SHIPPED, site_configuration
from benchmarks.resilience.pytests import ROOT, unpassed

CHECKS = find_checks()


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_check_plants_a_fault_that_it_must_catch(check: Check) -> None:
    assert check.TITLE and check.HOW and check.FAULTS
    for fault in check.FAULTS:
        assert fault.what and fault.misses
        if fault.plant is not None:
            module, _, function = fault.name.partition(":")
            assert getattr(importlib.import_module(module), function) is fault.plant


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_what_a_planted_fault_replaces_is_there(check: Check) -> None:
    # To set a name that its module does not have any more would break nothing, and the check would seem to miss it.
    for plant in {fault.plant for fault in check.FAULTS if fault.plant is not None}:
        body = ast.parse(textwrap.dedent(inspect.getsource(plant)))
        names = dict(plant.__globals__)
        for node in ast.walk(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), plant.__name__, "exec"), names)
        for node in ast.walk(body):
            if isinstance(node, ast.Assign) and not ast.unparse(node.value).startswith("property("):
                for target in node.targets:
                    path = ast.unparse(target)
                    if isinstance(target, ast.Attribute) and path.partition(".")[0] in names:
                        eval(path, names)


def _tests_named_in(value: object) -> set[str]:
    """Return the ids of tests in a constant of a check, without their parameters."""
    if isinstance(value, str):
        return {value.partition("[")[0]} if re.match(r"tests/\S+::test_", value) else set()
    if isinstance(value, dict):
        value = tuple(value.values())
    return set().union(*map(_tests_named_in, value)) if isinstance(value, tuple | list) else set()


def test_checks_run_tests_that_exist() -> None:
    found = pkgutil.walk_packages(checks.__path__, f"{checks.__name__}.")
    constants = tuple(tuple(vars(importlib.import_module(one.name)).values()) for one in found)
    named = sorted(_tests_named_in(constants))
    assert len(named) > 15
    sources = {name: (ROOT / name.partition("::")[0]).read_text() for name in named}
    assert [name for name in named if f"def {name.rpartition('::')[2]}(" not in sources[name]] == []


def test_checks_that_are_measured_one_by_one_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "KEPT", tmp_path)
    held = report.Outcome(
        "drops", "Drops", "How.", [Line("lost", 0.0, "", 0)], 3.0, [report.Caught("f", "lost", "3", True)]
    )
    missed = report.Outcome("kills", "Kills", "How.", [Line("lost", 2.0, "", 0)], 3.0, [])
    for outcome in (held, missed):
        outcome.keep((0.5, 1.5))
    assert report.kept(["drops", "kills"]) == [held, missed]
    text = report.document(["drops", "kills", "slow"])
    assert "1 of 2 goals held, 1 missed; 1 of 1 planted faults caught. Not measured whole yet: slow." in text


def test_a_test_that_broke_off_holds_no_goal_and_catches_no_fault() -> None:
    tests = ["t.py::test_held", "t.py::test_caught", "t.py::test_broke_off", "t.py::test_never_ran"]
    summary = [
        "PASSED t.py::test_held",
        "PASSED t.py::test_caught[one]",
        "FAILED t.py::test_caught[an other] - AssertionError: assert 1 == 2",
        "FAILED t.py::test_broke_off - TimeoutError",
    ]
    assert unpassed(tests, summary, is_planted=False) == ["test_caught", "test_broke_off", "test_never_ran"]
    assert unpassed(tests, summary, is_planted=True) == ["test_caught"]


def test_the_proxy_keeps_the_limits_of_the_shipped_configuration() -> None:
    text = site_configuration(8443, 9000)
    assert "listen 127.0.0.1:8443;" in text and "ssl" not in text
    assert re.findall(r"server (127\S+)", text) == ["127.0.0.1:9000;"]
    shipped, adapted = (re.findall(r"^ *limit_.*", each, re.MULTILINE) for each in (SHIPPED.read_text(), text))
    assert adapted == shipped
