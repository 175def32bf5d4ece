"""A database from before 0.2.0 is refused in one sentence; the demo keeps it and begins with an empty one."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT
from tests.python_template import forked_python

# The commands are tried on the database of the demo, SQLite.
pytestmark = pytest.mark.once

OLD = ("tools", "0002_full_text_index")


@pytest.fixture
def old_database(tmp_path: Path) -> Path:
    path = tmp_path / "db.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE django_migrations (id integer PRIMARY KEY, app text, name text, applied text)")
        database.execute("INSERT INTO django_migrations VALUES (1, ?, ?, '2026-01-01')", OLD)
    return path


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"ENV_FILE": os.devnull, "DATABASE_URL": f"sqlite:///{path}", "DEBUG": "true", "REDIS_URL": ""}
    return subprocess.run(
        [str(forked_python()), *arguments],
        cwd=ROOT,
        env={**os.environ, **environment, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_migrate_refuses_it(old_database: Path) -> None:
    done = run(old_database, "manage.py", "migrate")
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert "made before version 0.2.0" in line


def test_the_demo_keeps_it_under_another_name(old_database: Path) -> None:
    # Only the demo's first step: the command itself would go on serving.
    commands = "assistant.contrib.demo.management.commands"
    step = f"import django; django.setup(); from {commands}.assistant_demo import Command as C; C()._prepare_database()"
    done = run(old_database, "-c", step)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(old_database.with_name("db.sqlite3.before-0.2.0")) as database:
        assert database.execute("SELECT app, name FROM django_migrations").fetchall() == [OLD]
    with sqlite3.connect(old_database) as database:
        assert database.execute("SELECT count(*) FROM assistant_tenant").fetchone() == (0,)
