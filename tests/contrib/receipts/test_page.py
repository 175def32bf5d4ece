"""The page of the control panel that counts what no source supports."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.receipts.models import Receipt
from assistant.contrib.receipts.services.counting import KINDS, By, lines_by
from assistant.models import Run
from tests.base import Cast
from tests.factories import make_conversation, make_run

pytestmark = pytest.mark.django_db
URL = "/admin/assistant_receipts/receipt/"


def receipt(
    cast: Cast, *, unsupported: int = 0, actions: int = 0, rival: bool = False, is_checked: bool = True, **fields: Any
) -> Receipt:
    user, assistant = (cast.mallory, cast.rival_support) if rival else (cast.alice, cast.support)
    run = make_run(make_conversation(user, assistant), **fields)
    counts = {"values": 5 if is_checked else 0, "unsupported": unsupported, "unsupported_actions": actions}
    made = {**counts, "is_checked": is_checked}
    return Receipt.objects.create(tenant=run.tenant, run=run, message_id="m", tools=["get_order"], **made)


def page(user: Any, query: str = "") -> str:
    client = Client()
    client.force_login(user)
    answer = client.get(URL + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_counts_and_names_the_answers(cast: Cast) -> None:
    receipt(cast, unsupported=2, actions=1, model="small-1")
    receipt(cast, model="small-1", fallback_model="other-2")
    # A test of a prompt, and one that is old, do not count.
    receipt(cast, unsupported=5, is_test=True)
    old = receipt(cast, unsupported=5)
    Receipt.objects.filter(pk=old.pk).update(created_at=timezone.now() - timezone.timedelta(days=40))
    text = page(cast.root)
    assert "20.0 %" in text and "2 / 5" in text
    assert page(cast.root, "?days=90").count(" / 5") == 2
    by_model = page(cast.root, "?by=model")
    assert "small-1" in by_model and "other-2" in by_model and "40.0 %" in by_model
    assert "get_order" in page(cast.root, "?by=tool") and "Acme" in page(cast.root, "?by=prompt")
    run = Run.objects.order_by("pk").first()
    assert run is not None and f"/admin/assistant/conversation/{run.conversation_id}/change/" in text


@pytest.mark.parametrize("by", KINDS)
def test_answers_that_were_not_checked_are_counted_and_named(by: By, cast: Cast) -> None:
    receipt(cast)
    rows = [receipt(cast, is_checked=False) for _number in range(3)]
    (line,) = lines_by(by, Receipt.objects.all())
    assert (line.answers, line.not_checked, line.values, line.unsupported) == (4, 3, 5, 0)
    text = page(cast.root, f"?by={by}")
    assert "Not checked" in text and '<td class="number">3</td>' in text
    for row in rows:
        assert f"/admin/assistant/conversation/{row.run.conversation_id}/change/" in text
    assert text.count("not checked</td>") == 3 and "0 / 0" not in text


def test_each_tenants_admin_sees_their_own_alone(cast: Cast) -> None:
    receipt(cast, unsupported=1)
    receipt(cast, unsupported=4, rival=True)
    for user, own, others in ((cast.amy, "1 / 5", "4 / 5"), (cast.greta, "4 / 5", "1 / 5")):
        text = page(user)
        assert own in text and others not in text
    client = Client()
    client.force_login(cast.alice)
    assert client.get(URL).status_code in (302, 403)


def test_the_page_asks_no_more_with_more_receipts(cast: Cast) -> None:
    receipt(cast, unsupported=1)
    page(cast.root)
    with CaptureQueriesContext(connection) as one:
        page(cast.root)
    for _number in range(20):
        receipt(cast, unsupported=1)
    with CaptureQueriesContext(connection) as many:
        page(cast.root)
    assert len(many) == len(one)
