"""No way through the core grows: how many files and functions its requests enter is a budget."""

from __future__ import annotations

from dataclasses import fields

import pytest

from assistant.core.turn.plan import Plan
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.run_input import RunInput
from tests.ways.figures import ACTING, CORE, EXTENSIONS, FIELDS
from tests.ways.walking import Report, grown, table, walked

# The walks run in a process of their own, with a database of their own.
pytestmark = [pytest.mark.once, pytest.mark.slow]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    return walked("walks.py", tmp_path_factory.mktemp("ways"), apps="core")


def test_no_way_grows(reports: dict[str, Report]) -> None:
    print(table(reports))
    assert not grown(CORE, reports)


@pytest.mark.parametrize("way", ACTING)
def test_no_module_of_an_extension_that_does_not_act_is_entered(reports: dict[str, Report], way: str) -> None:
    entered = {file for file in reports[way]["functions_of"] if file.startswith(EXTENSIONS)}
    assert entered <= ACTING[way], sorted(entered - ACTING[way])


def test_no_value_of_a_run_grows() -> None:
    assert {value.__name__: len(fields(value)) for value in (RunInput, RunSetup, Plan)} == FIELDS
