"""A project with django-tenants: what can be told without the package. With it: `tests/host_matrix`."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from assistant.models import Tenant
from assistant.services.tenancy import schemas
from tools.models import Order


@pytest.fixture
def split() -> override_settings:
    """The apps as django-tenants divides them; one may be in both."""
    return override_settings(SHARED_APPS=["assistant", "people"], TENANT_APPS=["tools", "assistant"])


def test_rows_of_apps_in_the_schemas_of_tenants_alone_need_no_column_for_a_tenant(split: override_settings) -> None:
    with split:
        assert schemas.has_schemas_of_its_own(Order)
        assert not schemas.has_schemas_of_its_own(Tenant)


def test_an_app_named_by_its_configuration_is_the_same_app() -> None:
    with override_settings(SHARED_APPS=[], TENANT_APPS=["tools.apps.ToolsConfig"]):
        assert schemas.has_schemas_of_its_own(Order)


def test_a_project_without_the_package_has_no_schemas_and_is_warned_of_none() -> None:
    assert schemas.tenant_model() is None
    assert "assistant.W009" not in {found.id for found in run_checks()}
