"""A run whose approval was answered is not shown as waiting any more."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.models import Run, ToolCall
from tests.base import Cast
from tests.contrib.panel.conftest import say_something

LIST = "/admin/assistant/run/"


@pytest.mark.parametrize("decided", ["approved", "ok", "declined", "expired"])
def test_an_answered_run_does_not_wait(amys: Client, cast: Cast, decided: str) -> None:
    run = say_something(cast)
    Run.objects.update(status=Run.Status.WAITING)
    ToolCall.objects.update(status=ToolCall.Status.AWAITING_APPROVAL)
    row = f"/admin/assistant/run/{run.pk}/change/"
    assert "Waiting</span>" in listed(amys)
    assert row in listed(amys, "waiting") and row not in listed(amys, "answered")
    ToolCall.objects.update(status=decided)
    assert "Answered; another run went on</span>" in listed(amys)
    assert row not in listed(amys, "waiting") and row in listed(amys, "answered")
    assert "Answered; another run went on" in amys.get(row).content.decode()


def listed(client: Client, status: str = "") -> str:
    """Return the table of the list of runs."""
    page = client.get(LIST, {"status__exact": status} if status else {}).content.decode()
    return page.partition('id="result_list"')[2].partition("</table>")[0]
