"""A shop whose models are exposed (`tests/host_project/shop`): its own tests, and calls with generated arguments."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from tests import live
from tests.docs.snippets import ROOT
from tests.host_project.installed import run

# `GENERATED_CALLS=2000` tries as many as the figure in docs/data.md.
CALLS = os.environ.get("GENERATED_CALLS", "400")
# For tables and rows, and half a second for each call.
SECONDS = 300 + int(CALLS) / 2
SHOP = ROOT / "tests/host_project/shop"
pytestmark = pytest.mark.timeout(1800 + SECONDS)


def shop(folder: Path) -> tuple[Path, dict[str, str]]:
    """Copy the project; return its folder, and an environment in which it finds the checkout."""
    shutil.copytree(SHOP, folder, ignore=shutil.ignore_patterns("*.sqlite3", "__pycache__"))
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return folder, inherited | {"PYTHONPATH": f"{ROOT}:{folder}", "DJANGO_SETTINGS_MODULE": "shop_settings"}


def run_tests(folder: Path, *tests: str, **added: str) -> None:
    folder, environment = shop(folder)
    run([sys.executable, "manage.py", "makemigrations", "people", "orders"], folder, environment | added)
    run([sys.executable, "manage.py", "test", "--noinput", *tests], folder, environment | added)


def generated_calls(folder: Path, **database: str) -> dict[str, object]:
    """Call every tool with generated arguments; return what came back that should not have."""
    folder, environment = shop(folder)
    environment |= database | {"GENERATED_CALLS": CALLS}
    script = [sys.executable, "-m", "django", "shell", "-v0", "-c", "import generated_calls"]
    told: dict[str, object] = json.loads(run(script, folder, environment, seconds=SECONDS).splitlines()[-1])
    return told


def assert_nothing_leaks(told: dict[str, object]) -> None:
    assert (told["wrong"], told["differing"], told["unanswered"]) == ([], [], [])
    ended = told["ended"]
    assert isinstance(ended, dict) and ended["failed"] == 0 and ended["ok"] > ended["told"] / 2


@pytest.mark.once
def test_the_shops_own_tests_pass(tmp_path: Path) -> None:
    run_tests(tmp_path / "shop")


@pytest.mark.once
def test_with_guardian_members_read_the_rows_that_they_were_given(tmp_path: Path) -> None:
    run_tests(tmp_path / "shop", "orders.guarded", DJANGO_SETTINGS_MODULE="guarded_settings")


@pytest.mark.once
def test_generated_calls_return_no_foreign_row_and_no_hidden_column(tmp_path: Path) -> None:
    assert_nothing_leaks(generated_calls(tmp_path / "shop"))


@pytest.mark.once
def test_the_tests_of_a_site_with_a_tree_of_pages_pass(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    shutil.copytree(
        ROOT / "tests/host_project/pages", folder, ignore=shutil.ignore_patterns("*.sqlite3", "__pycache__")
    )
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = inherited | {"PYTHONPATH": f"{ROOT}:{folder}"}
    run([sys.executable, "manage.py", "makemigrations", "cms"], folder, environment)
    run([sys.executable, "manage.py", "test", "--noinput"], folder, environment)


@pytest.fixture
def database() -> Iterator[tuple[str, str]]:
    """An empty database of PostgreSQL, as `HOST_POSTGRES` names it, and the name of a role for servers."""
    url = urlsplit(live.test_database_url())
    name = f"{connection.settings_dict['NAME']}_shop"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
        yield ",".join((name, url.username or "", url.password or "", url.hostname or "", str(url.port or 5432))), name
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        cursor.execute(f"DROP ROLE IF EXISTS {name}")


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_the_shops_own_tests_pass_on_postgresql(tmp_path: Path, database: tuple[str, str]) -> None:
    run_tests(tmp_path / "shop", HOST_POSTGRES=database[0])


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_restricted", [False, True], ids=["unrestricted", "row-level-security"])
def test_generated_calls_on_postgresql(tmp_path: Path, database: tuple[str, str], is_restricted: bool) -> None:
    postgres, role = database
    environment = {"HOST_POSTGRES": postgres} | ({"HOST_ROLE": role} if is_restricted else {})
    told = generated_calls(tmp_path / "shop", **environment)
    assert_nothing_leaks(told)
    assert (told["user"] == role) is is_restricted
