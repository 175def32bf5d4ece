"""`assistant_prove` on a warehouse with a planted leak in each tool, and on three projects without any."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from assistant.contrib.data.services.prove.arguments import Cases, Pool
from assistant.contrib.data.services.prove.calling import Called
from tests import live
from tests.contrib.data import init_projects
from tests.contrib.data.test_init import Host
from tests.docs.snippets import ROOT
from tests.host_project.installed import run

LEAKY = ROOT / "tests/host_project/leaky"
SHOP = ROOT / "tests/host_project/shop"
pytestmark = pytest.mark.timeout(1800)
# What is planted in each tool of the warehouse.
PLANTED = {
    "show_delivery": "returns a row",
    "list_customers": "returns a row",
    "count_open_deliveries": "answers differently when",
    "average_weight": "answers differently when",
    "public_items": "returns a row",
    "has_customer": "answers differently for absent",
    "set_note": "changes a row",
    "cancel_delivery": "changes a row",
    "move_delivery": "links a row",
    "export_customers": "looks secret",
    "items_of": "returns a row",
    "heaviest_customers": "returns a row",
    "item_titles": "returns a row",
    "last_delivery": "answers differently when",
    "my_items": "returns a row",
    "customers_of_country": "returns a row",
    "check_delivery": "returns a row",
    "take_stock": "only reads",
    "close_deliveries": "changes a row",
    "deliveries_of": "raises",
}
# And in each whose leak is not in what the model reads, or not for every person.
PLANTED_ELSEWHERE = {
    "customer_card": "returns a row",
    "customers_file": "returns a row",
    "delete_customer": "returns a row",
    "say_hello": "returns a row",
    "customers_backup": "returns a row",
    "customers_in_capitals": "returns a row",
    "paper_link": "returns a row",
    "read_paper": "returns a row",
    "mail_customers": "copies a row",
    "keep_customers": "copies a row",
    "copy_note": "copies a row",
    "pin_note": "links a row",
    "clear_notes": "changes a row",
    "count_customers": "answers differently when",
    "customers_of_site": "returns a row",
    "customers_in": "returns a row",
    "rank_deliveries": "answers differently when",
    "add_customer": "answers differently for absent",
    "items_on": "returns a row",
    "heaviest_drive": "answers differently when",
    "think": "is slow",
}
# One of each kind; all of them take minutes there.
ON_POSTGRESQL = (
    "show_delivery", "average_weight", "has_customer", "cancel_delivery", "move_delivery", "export_customers",
    "take_stock", "deliveries_of", "clear_notes", "keep_customers", "customers_of_site",
)  # fmt: skip


def prove(folder: Path, source: Path, *options: str, **environment: str) -> tuple[int, str]:
    """Run the command in a copy of a project; return its exit status and what it printed."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.sqlite3", "__pycache__"))
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return run_in(folder, inherited | {"PYTHONPATH": f"{ROOT}:{folder}"} | environment, *options)


def run_in(folder: Path, environment: dict[str, str], *options: str) -> tuple[int, str]:
    command = [sys.executable, "manage.py", "assistant_prove", "--no-migrations", "--skip-checks", *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.once
def test_planted_leaks_are_found_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "leaky"
    status, told = prove(folder, LEAKY, "--html", "proof.html", "--junit", "proof.xml")
    assert status == 1, told
    assert_found(folder, PLANTED | PLANTED_ELSEWHERE, told)
    page = (folder / "proof.html").read_text()
    assert all(name in page for name in PLANTED)
    assert not (folder / "stock.sqlite3").exists() or (folder / "stock.sqlite3").stat().st_size == 0


def assert_found(folder: Path, planted: dict[str, str], told: str) -> None:
    cases = {case.get("name"): case.find("failure") for case in ET.parse(folder / "proof.xml").getroot()}
    failed = {name: failure.get("message") for name, failure in cases.items() if failure is not None}
    assert failed.keys() == planted.keys(), told
    assert [name for name, kind in planted.items() if kind not in str(failed[name])] == [], failed


@pytest.mark.once
@pytest.mark.parametrize(("source", "environment"), [(LEAKY, {"STOCK_TOOLS": "clean"}), (SHOP, {})])
def test_nothing_is_found_in_clean_projects(source: Path, environment: dict[str, str], tmp_path: Path) -> None:
    status, told = prove(tmp_path / source.name, source, **environment)
    assert status == 0, told
    assert "0 findings" in told


@pytest.fixture
def postgres() -> Iterator[str]:
    """An empty database of PostgreSQL, as `HOST_POSTGRES` names it, whose role may make others."""
    url = urlsplit(live.test_database_url())
    name = f"{connection.settings_dict['NAME']}_stock"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
        yield ",".join((name, url.username or "", url.password or "", url.hostname or "", str(url.port or 5432)))
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE 'assistant_prove_%%'")
        left = cursor.fetchone()
        cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    assert left == (0,)


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_restricted", ["false", "true"], ids=["unrestricted", "row-level-security"])
def test_leaks_are_found_on_postgresql_which_hides_none_by_its_policies(
    tmp_path: Path, postgres: str, is_restricted: str
) -> None:
    planted = {name: kind for name, kind in (PLANTED | PLANTED_ELSEWHERE).items() if name in ON_POSTGRESQL}
    folder = tmp_path / "leaky"
    environment = {"HOST_POSTGRES": postgres, "ASSISTANT_ROW_LEVEL_SECURITY": is_restricted}
    options = ("--tools", ",".join((*planted, "get_delivery")), "--junit", "proof.xml")
    status, told = prove(folder, LEAKY, *options, **environment)
    assert status == 1, told
    assert_found(folder, planted, told)


@pytest.mark.once
def test_nothing_is_found_in_what_assistant_init_proposes(tmp_path: Path) -> None:
    host = Host(tmp_path / "companies", init_projects.COMPANIES)
    host.init("--yes")
    status, told = run_in(host.folder, host.environment)
    assert status == 0, told


def test_a_number_within_a_key_does_not_tell_answers_apart() -> None:
    key = "6e8400e0-c702-4198-96c9-5fc9c3e5ac23"
    absent = Called("told", f"No row {key} has number 999983.", "", 0.0)
    foreign = Called("told", f"No row {key} has number 6.", "", 0.0)
    assert absent.without("999983", []) & foreign.without("6", [])
    assert not absent.without("999983", []) & Called("told", "It is another's: 6.", "", 0.0).without("6", [])


def pool() -> Pool:
    keys = {"a": [("order", 1), ("user", 2)], "b": [("order", 2), ("order", 3)]}
    return Pool(keys, {"a": [("order note", "zqa0001")], "b": [("order note", "zqb0001")]}, {})


def test_arguments_are_own_foreign_and_absent() -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": "integer"}}, "required": ["order_id"]}
    values = {(case.kind, case.arguments["order_id"]) for case in Cases(schema, pool(), "x").chosen()}
    assert {("own", 1), ("foreign", 2), ("foreign", 3), ("absent", 999_983)} <= values


def test_a_key_that_is_a_row_of_both_says_nothing_where_the_argument_names_no_model() -> None:
    schema = {"type": "object", "properties": {"key": {"type": "integer"}}, "required": ["key"]}
    values = {(case.kind, case.arguments["key"]) for case in Cases(schema, pool(), "x").chosen()}
    assert ("foreign", 3) in values and ("foreign", 2) not in values


def test_optional_and_nested_arguments_are_chosen_too() -> None:
    text = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    where = {"type": "object", "properties": {"note": {"$ref": "#/$defs/Note"}}}
    note = {"type": "object", "properties": {"is": text}}
    schema = {"type": "object", "properties": {"where": where}, "$defs": {"Note": note}}
    arguments = [case.arguments for case in Cases(schema, pool(), "x").chosen() if case.kind == "foreign"]
    assert {"where": {"note": {"is": "zqb0001"}}} in arguments


def of_keys(name: str, items: dict[str, object]) -> list[tuple[str, object]]:
    """The kinds and values of a parameter, where orders are numbered by UUID."""
    a, b = "6e8400e0-c702-4198-96c9-5fc9c3e5ac23", "a0a80121-7ac0-4e6b-9f4e-0f6ad1d7a0f1"
    other = Pool({"a": [("user", "zqa9"), ("order", a)], "b": [("order", b)]}, {"b": [("order note", "zqb0001")]}, {})
    schema = {"type": "object", "properties": {name: items}, "required": [name]}
    return [(case.kind, case.arguments[name]) for case in Cases(schema, other, "x").chosen()]


def test_a_key_that_is_a_uuid_is_called_with_uuids() -> None:
    values = of_keys("order_id", {"type": "string", "format": "uuid"})
    assert {("own", "6e8400e0-c702-4198-96c9-5fc9c3e5ac23"), ("foreign", "a0a80121-7ac0-4e6b-9f4e-0f6ad1d7a0f1")} <= {
        *values
    }
    assert [value for kind, value in values if kind != "other" and "zq" in str(value)] == []


def test_lists_have_another_tenants_key_alone_and_behind_an_own_one() -> None:
    values = of_keys("order_ids", {"type": "array", "items": {"type": "string", "format": "uuid"}})
    own, foreign = "6e8400e0-c702-4198-96c9-5fc9c3e5ac23", "a0a80121-7ac0-4e6b-9f4e-0f6ad1d7a0f1"
    assert ("foreign", [foreign]) in values and ("foreign", [own, foreign]) in values


@pytest.mark.once
def test_the_warehouses_own_tests_pass(tmp_path: Path) -> None:
    folder = tmp_path / "leaky"
    shutil.copytree(LEAKY, folder, ignore=shutil.ignore_patterns("*.sqlite3", "__pycache__"))
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = inherited | {"PYTHONPATH": f"{ROOT}:{folder}"}
    run([sys.executable, "manage.py", "makemigrations", "stock"], folder, environment)
    run([sys.executable, "manage.py", "test", "--noinput"], folder, environment)
