"""The boards show what happens now: calls of the last hour, failed and refused ones, and who waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.models import Run, ToolCall
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in

NOW = "/admin/assistant/toolsetting/switchboard-now/"


def called(cast: Cast, status: str = ToolCall.Status.OK, tool: str = "calculate", **fields: Any) -> Run:
    run = say_something(cast, tool=tool)
    ToolCall.objects.filter(run=run).update(status=status, **fields)
    return run


def cells(client: Client, *tenants: Any, by: str = "") -> Any:
    asked = {"tenants": ",".join(str(tenant.pk) for tenant in tenants), **({"by": by} if by else {})}
    return client.get(NOW, asked).json()["cells"]


def test_calls_errors_and_who_waits_are_told_of_the_tenant_and_of_each_assistant(amys: Client, cast: Cast) -> None:
    called(cast)
    called(cast, ToolCall.Status.ERROR)
    called(cast, ToolCall.Status.REFUSED)
    key = f"{cast.acme.pk}::calculate"
    assert cells(amys, cast.acme) == {
        key: {"state": "failed", "text": "In the last hour 3 calls, 1 failed, 1 refused."}
    }
    called(cast, ToolCall.Status.AWAITING_APPROVAL)
    found = cells(amys, cast.acme, by="assistant")
    told = {"state": "waits", "text": "In the last hour 4 calls, 1 failed, 1 refused; 1 waits for an approval."}
    assert found == {key: told, f"{cast.acme.pk}:{cast.support.pk}:calculate": told}


def test_what_was_before_and_tests_are_left_out(amys: Client, cast: Cast) -> None:
    called(cast, started_at=timezone.now() - timedelta(minutes=61))
    Run.objects.filter(pk=called(cast).pk).update(is_test=True)
    assert cells(amys, cast.acme) == {}


@pytest.mark.parametrize("asked", ["", "0", "x", "{globex}", "{acme},{globex}", ",".join(map(str, range(1, 60)))])
def test_other_tenants_and_nonsense_are_not_found(amys: Client, cast: Cast, asked: str) -> None:
    named = asked.format(acme=cast.acme.pk, globex=cast.globex.pk)
    assert amys.get(NOW, {"tenants": named}).status_code == 404


def test_the_rivals_admin_sees_nothing_of_it_and_a_member_no_page(cast: Cast) -> None:
    called(cast)
    greta = signed_in(cast.greta)
    assert cells(greta, cast.globex) == {}
    assert greta.get(NOW, {"tenants": str(cast.acme.pk)}).status_code == 404
    assert signed_in(cast.alice).get(NOW, {"tenants": str(cast.acme.pk)}).status_code in (302, 403, 404)


def test_it_takes_the_same_queries_for_one_call_and_for_many(root: Client, cast: Cast) -> None:
    called(cast)
    with CaptureQueriesContext(connection) as few:
        cells(root, cast.acme, cast.globex)
    for _ in range(6):
        called(cast, tool="get_customer")
    with CaptureQueriesContext(connection) as many:
        assert len(cells(root, cast.acme, cast.globex)) == 2
    assert len(many) == len(few)


def test_both_boards_ask_for_it(root: Client, cast: Cast) -> None:
    assert f'data-now="{NOW}"' in root.get("/admin/assistant/toolsetting/switchboard/").content.decode()
    own = root.get("/admin/assistant/toolsetting/switchboard/acme/").content.decode()
    assert f'data-now="{NOW}?by=assistant"' in own and f'data-target="{cast.acme.pk}::calculate"' in own
