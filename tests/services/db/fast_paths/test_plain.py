"""Without the fast path, prepared statements find and leave the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.models import Assistant, AuditEntry
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery
from assistant.services.db.fast_paths.prepared_writes import PreparedInsert, PreparedUpdate
from assistant.toolkit import fast_paths
from tests.base import Cast


@pytest.fixture(params=[True, False], ids=["fast", "plain"])
def _path(request: pytest.FixtureRequest) -> Iterator[None]:
    fast_paths.configure(enabled=request.param)
    yield
    fast_paths.configure(enabled=True)


@pytest.mark.usefixtures("_path")
def test_a_query_an_insert_and_an_update_do_the_same(cast: Cast) -> None:
    entry = PreparedInsert(AuditEntry).insert(AuditEntry(tenant=cast.acme, action="made", target="a"))
    assert AuditEntry.objects.get(pk=entry.pk, tenant=cast.acme).action == "made"

    def of_tenant(*, tenant_id: int) -> object:
        return AuditEntry.objects.filter(tenant_id=tenant_id)

    update = PreparedUpdate(of_tenant, "action", tenant_id=int)  # type: ignore[arg-type]
    assert update.update(to={"action": "changed"}, tenant_id=cast.globex.pk) == 0
    assert update.update(to={"action": "changed"}, tenant_id=cast.acme.pk) >= 1
    query = PreparedQuery(
        lambda *, tenant_id: AuditEntry.objects.filter(tenant_id=tenant_id).values_list("action", flat=True),
        tenant_id=int,
    )
    assert set(query.rows(tenant_id=cast.acme.pk)) == {"changed"}
    assert "changed" not in set(query.rows(tenant_id=cast.globex.pk))
    slugs = PreparedQuery(lambda *, tenant_id: Assistant.objects.filter(tenant_id=tenant_id), tenant_id=int)
    assert {row.tenant_id for row in slugs.rows(tenant_id=cast.acme.pk)} <= {cast.acme.pk}
