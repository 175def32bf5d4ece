"""A project's own tests of its tools, chats and cassettes (`crm/accounts/tests.py`) pass on both databases."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from tests import live
from tests.docs.snippets import ROOT
from tests.fake_provider import FakeProvider
from tests.host_project.installed import run


def run_tests(folder: Path, provider: FakeProvider, **environment: str) -> None:
    """Run them in a copy of the project, in which the checkout is found."""
    shutil.copytree(Path(__file__).parent / "crm", folder)
    provider.call("list_invoices", {})
    provider.reply("One, of 12.50.")
    run(
        [sys.executable, "manage.py", "test", "--noinput"],
        folder,
        {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "site_settings", "RECORD_CASSETTES": "true"}
        | {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
        | environment,
    )
    assert (folder / "accounts/cassettes/invoices.json").exists()


@pytest.mark.once
@pytest.mark.timeout(600)
def test_on_sqlite(tmp_path: Path, fake_provider: FakeProvider) -> None:
    run_tests(tmp_path / "crm", fake_provider)


@pytest.mark.services
@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_on_postgresql(tmp_path: Path, fake_provider: FakeProvider) -> None:
    url = urlsplit(live.test_database_url())
    name = f"{connection.settings_dict['NAME']}_crm"
    database = (name, url.username or "", url.password or "", url.hostname or "", str(url.port or 5432))
    run_tests(tmp_path / "crm", fake_provider, HOST_POSTGRES=",".join(database))
