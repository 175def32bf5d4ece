"""What `assistant_init` guesses of a project: who manages a tenant, and what the project is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import models
from django.test.utils import isolate_apps
from pytest_django.fixtures import Settings

from assistant.contrib.data.services.init.candidates import Candidate, Members
from assistant.contrib.data.services.init.project import Project, named_apps
from assistant.contrib.data.services.init.written_code import EVERYBODY, role_expression, urls_block


def membership(**attributes: Any) -> Any:
    fields = {"user": models.ForeignKey(get_user_model(), models.CASCADE, related_name="+"), **attributes}
    return type("Membership", (models.Model,), {"__module__": __name__, "Meta": META, **fields})


META = type("Meta", (), {"app_label": "emptying"})


def role_of(joining: Any, tenant: Any) -> str:
    return role_expression(Candidate(tenant, 1, (), Members(joining, "rows", "user", "firm", (), 1)))


@isolate_apps("tests.emptying")
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"is_org_admin": models.BooleanField()}, '"admin" if membership.is_org_admin else "member"'),
        ({"is_owner": models.BooleanField()}, '"owner" if membership.is_owner else "member"'),
        ({"is_admin": property(lambda self: self.level > 2)}, '"admin" if membership.is_admin else "member"'),
        (
            {"level": models.IntegerField(choices=[(1, "Staff"), (9, "Administrator")])},
            '{9: "admin"}.get(membership.level, "member")',
        ),
        ({"level": models.IntegerField()}, EVERYBODY),
        ({"notify_owner": models.BooleanField()}, EVERYBODY),
    ],
)
def test_who_manages_a_tenant_is_read_from_the_membership(attributes: dict[str, Any], expected: str) -> None:
    firm = type("Firm", (models.Model,), {"__module__": __name__, "Meta": META})
    assert role_of(membership(**attributes), firm) == expected


@isolate_apps("tests.emptying")
def test_else_the_tenants_own_row_says_who_owns_it() -> None:
    owner = models.ForeignKey(get_user_model(), models.CASCADE, related_name="+")
    firm = type("Firm", (models.Model,), {"__module__": __name__, "Meta": META, "owner": owner})
    assert role_of(membership(), firm) == '"owner" if membership.user_id == row.owner_id else "member"'


def project_at(folder: Path) -> Project:
    return Project(
        folder, folder, folder, None, "", "assistant/",
        has_language_prefixes=True, prefixes_default_language=False, has_admin=True,
    )  # fmt: skip


def test_the_default_language_stays_without_a_prefix_where_it_has_none(tmp_path: Path) -> None:
    block = urls_block(project_at(tmp_path))
    assert 'i18n_patterns(path("assistant/", include("assistant.page_urls")), prefix_default_language=False)' in block


def test_a_project_is_called_as_it_calls_itself(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "back-end"
    folder.mkdir()
    project = project_at(folder)
    assert project.name == "Back End"
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "clear_river"\n')
    assert project.name == "Clear River"
    settings.SITE_NAME = "Clear River Ltd."
    assert project.name == "Clear River Ltd."


def test_an_app_is_there_if_a_list_of_apps_names_it() -> None:
    assert named_apps('ROLES = [("assistant", "Assistant")]\nINSTALLED_APPS = ["shop"]\n') == {"shop"}
    assert named_apps("LOCAL_APPS = ['shop']\nif LOCAL_APPS:\n    INSTALLED_APPS += ['assistant']\n") == {
        "shop",
        "assistant",
    }
    assert named_apps('INSTALLED_APPS.append("assistant")\n') == {"assistant"}
