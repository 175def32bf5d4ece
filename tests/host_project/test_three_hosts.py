"""Three projects with tenants of their own: no tool gets another tenant's row, whatever leads the row to its tenant."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.db import connection

from assistant import urls
from tests import live
from tests.docs.snippets import ROOT
from tests.host_project.installed import installed, run
from tests.python_template import forked_python

HERE = Path(__file__).parent
HOSTS = ("organisations", "renters", "subdomains")
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One environment in which the package is installed, for all hosts."""
    with installed(tmp_path_factory.mktemp("hosts") / "site") as (environment, _):
        yield environment | {"DJANGO_SETTINGS_MODULE": "host_settings"}


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest, tmp_path: Path, environment: dict[str, str]) -> tuple[Path, dict[str, str]]:
    """The folder and the environment of one of the projects, without tables."""
    folder = tmp_path / "host"
    shutil.copytree(HERE / "hosts", folder)
    shutil.copytree(HERE / "crm/people", folder / "people")
    return folder, environment | {"HOST": request.param}


def shell(host: tuple[Path, dict[str, str]], script: str) -> str:
    """Run a module of the project; return the last line that it prints."""
    folder, environment = host
    command = [str(forked_python()), "-m", "django", "shell", "-v0", "-c", f"import {script}"]
    return run(command, folder, environment).splitlines()[-1]


@pytest.mark.once
def test_a_tool_that_forgot_its_filter_gets_its_own_tenants_rows_alone(host: tuple[Path, dict[str, str]]) -> None:
    told = json.loads(shell(host, "tripwire_proof"))
    assert told["wrong"] == [] and told["tries"] > 90


@pytest.mark.once
def test_every_page_opens_in_the_hosts_own_admin(host: tuple[Path, dict[str, str]]) -> None:
    folder, environment = host
    environment = environment | {"PYTHONPATH": f"{environment['PYTHONPATH']}:{ROOT}"}
    told = json.loads(shell((folder, environment), "pages_proof"))
    assert told["failed"] == []
    has_admin = environment["HOST"] != "subdomains"
    assert all(count > least for count, least in zip(told["opened"], (150, 130, 4), strict=True)) is has_admin


@pytest.fixture
def database() -> Iterator[tuple[str, str]]:
    """An empty database of PostgreSQL, as `HOST_POSTGRES` names it, and the name of a role for servers."""
    url, name = urlsplit(live.test_database_url()), f"{connection.settings_dict['NAME']}_host"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
        yield ",".join((name, url.username or "", url.password or "", url.hostname or "", str(url.port or 5432))), name
        cursor.execute(f"DROP DATABASE {name}")
        cursor.execute(f"DROP ROLE IF EXISTS {name}")


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_postgresql_alone_keeps_the_hosts_tables_apart(
    host: tuple[Path, dict[str, str]], database: tuple[str, str]
) -> None:
    folder, environment = host
    postgres, role = database
    told = json.loads(shell((folder, environment | {"HOST_POSTGRES": postgres, "HOST_ROLE": role}), "policies_proof"))
    assert (told["foreign"], told["missing"], told["unseen"]) == ([], [], [])
    # The status is asked as the servers' role.
    assert told["problems"] == [] and told["added"] > 4
    assert told["open"] > 6


@pytest.mark.once
@pytest.mark.parametrize("host", ["organisations"], indirect=True)
def test_a_hosts_people_and_tenants_are_deleted_only_by_the_host(host: tuple[Path, dict[str, str]]) -> None:
    assert shell(host, "privacy_proof") == "done"


@pytest.mark.once
@pytest.mark.parametrize("host", ["organisations"], indirect=True)
def test_people_who_sign_in_with_an_address_are_asked_for_one(host: tuple[Path, dict[str, str]]) -> None:
    assert shell(host, "sign_in_proof") == "done"


@pytest.mark.once
def test_everything_that_is_installed_bears_the_name_of_the_package(environment: dict[str, str]) -> None:
    site = Path(environment["PYTHONPATH"])
    assert {path.name for path in site.iterdir() if path.suffix != ".dist-info"} == {"assistant", "bin"}
    assert [path.name for path in (site / "bin").iterdir() if path.name.startswith("tenant")] == ["tenant-assistant"]
    for folder in ("templates", "templates/admin", "static"):
        assert {path.name for path in (site / "assistant" / folder).iterdir()} <= {"assistant", "admin"}
    tables = [model._meta.db_table for model in apps.get_app_config("assistant").get_models(include_auto_created=True)]
    assert len(tables) > 25 and all(table.startswith("assistant_") for table in tables)
    assert urls.app_name == "assistant"
