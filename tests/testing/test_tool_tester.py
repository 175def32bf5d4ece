"""`ToolTester` with rows of a test."""

from __future__ import annotations

import pytest

from assistant.services.tenancy.row_scope import visible_tenants
from assistant.testing import ToolTester
from assistant.toolkit import tool
from tests.base import Cast

pytestmark = pytest.mark.django_db


@tool
def whose_rows() -> str:
    """Return the tenants whose rows can be seen with row-level security."""
    return visible_tenants()


def test_a_tool_sees_the_rows_of_its_tenant_alone_as_in_a_run(cast: Cast) -> None:
    tester = ToolTester(whose_rows, tenant=cast.acme, user=cast.alice)
    before = visible_tenants()
    assert tester.run().content == str(cast.acme.pk)
    assert visible_tenants() == before
