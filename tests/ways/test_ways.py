"""No way through the core grows: how many files and functions its requests enter is a budget."""

from __future__ import annotations

import pytest

from tests.ways.figures import ACTING, CORE, EXTENSIONS
from tests.ways.walking import Report, grown, table, walked

# The walks run in a process of their own, with a database of their own.
pytestmark = [pytest.mark.once, pytest.mark.slow]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    return walked("walks.py", tmp_path_factory.mktemp("ways"))


def test_no_way_grows(reports: dict[str, Report]) -> None:
    print(table(reports))
    assert not grown(CORE, reports)


@pytest.mark.parametrize("way", ACTING)
def test_no_module_of_an_extension_that_does_not_act_is_entered(reports: dict[str, Report], way: str) -> None:
    entered = {file for file in reports[way]["functions_of"] if file.startswith(EXTENSIONS)}
    assert entered <= ACTING[way], sorted(entered - ACTING[way])
