"""New databases are made by one migration that stands for many; it must make what these made."""

from __future__ import annotations

from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader

APP = "assistant"


def test_the_squashed_migration_makes_the_tables_that_the_single_ones_made() -> None:
    squashed, single = MigrationLoader(None), MigrationLoader(None, replace_migrations=False)
    (name,) = (name for name in squashed.disk_migrations if name[0] == APP and squashed.disk_migrations[name].replaces)
    last = squashed.disk_migrations[name].replaces[-1]
    states = single.project_state(last), squashed.project_state(name)
    for before, after in (states, states[::-1]):
        assert MigrationAutodetector(before, after)._detect_changes().get(APP) is None


def test_the_squashed_migration_stands_for_an_unbroken_line_from_the_first() -> None:
    loader = MigrationLoader(None, replace_migrations=False)
    (squashed,) = (one for key, one in loader.disk_migrations.items() if key[0] == APP and one.replaces)
    plan = [key for key in loader.graph.forwards_plan(squashed.replaces[-1]) if key[0] == APP]
    assert plan == squashed.replaces
