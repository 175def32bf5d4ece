"""Calls that wait for results: an operator ends what a failed run has left."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async

from assistant.contrib.later_results.services.stopped_waits import stop_waits
from assistant.models import Run, ToolCall
from tests.base import Cast
from tests.contrib.later_results.test_elsewhere import waiting

pytestmark = pytest.mark.django_db(transaction=True)


async def test_an_operator_ends_what_a_failed_run_has_left(cast: Cast) -> None:
    row = await sync_to_async(waiting)(cast)
    await Run.objects.aupdate(status=Run.Status.FAILED)
    given = {"pks": [row.pk], "actor": cast.amy}
    assert await stop_waits(tenant_ids=[cast.globex.pk], **given) == 0
    assert await stop_waits(tenant_ids=[cast.acme.pk], **given) == 1
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.CANCELLED
    assert (await Run.objects.aget()).status == Run.Status.FAILED
