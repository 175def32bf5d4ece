"""Test databases begin as copies of a migrated one."""

from __future__ import annotations

from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import modify_settings

from tests.databases.template import digest


def test_this_database_has_every_migration_and_permission(db: None) -> None:
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    wanted = {(model._meta.label_lower, f"view_{model._meta.model_name}") for model in apps.get_models()}
    found = {(f"{app}.{model}", name) for app, model, name in Permission.objects.values_list(
        "content_type__app_label", "content_type__model", "codename")}  # fmt: skip
    assert {one for one in wanted if apps.get_model(one[0])._meta.default_permissions} - found == set()


def test_another_app_makes_another_template() -> None:
    before = digest()
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sitemaps"}):
        assert digest() != before
    assert digest() == before
