"""Without the fast path, prepared statements find the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.models import Assistant, AuditEntry
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery
from assistant.toolkit import fast_paths
from tests.base import Cast


@pytest.fixture(params=[True, False], ids=["fast", "plain"])
def _path(request: pytest.FixtureRequest) -> Iterator[None]:
    fast_paths.configure(enabled=request.param)
    yield
    fast_paths.configure(enabled=True)


@pytest.mark.usefixtures("_path")
def test_a_query_finds_the_same(cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        AuditEntry.objects.create(tenant=tenant, action=tenant.slug, target="a")
    query = PreparedQuery(
        lambda *, tenant_id: AuditEntry.objects.filter(tenant_id=tenant_id, target="a").values_list(
            "action", flat=True
        ),
        tenant_id=int,
    )
    assert set(query.rows(tenant_id=cast.acme.pk)) == {"acme"}
    slugs = PreparedQuery(lambda *, tenant_id: Assistant.objects.filter(tenant_id=tenant_id), tenant_id=int)
    assert {row.tenant_id for row in slugs.rows(tenant_id=cast.acme.pk)} <= {cast.acme.pk}
