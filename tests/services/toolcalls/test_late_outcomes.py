"""The audit of calls that ended after their run no longer waited for them."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.models import ToolCall
from assistant.services.run_key import key_of
from assistant.services.tenancy.members import find_member
from assistant.services.toolcalls.direct_call import call_tool
from assistant.services.toolcalls.run_journal import calls_of_run, record_late_outcome
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.factories import make_conversation, make_run, switch_tool

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("status", ["timeout", "cancelled"])
@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (ToolOutcome(Call("c1", "pay", "{}"), "ok", "Paid 5."), "It completed after 8 seconds."),
        (ToolOutcome(Call("c1", "pay", "{}"), "error", "Refused."), "It failed after 8 seconds."),
        (ToolOutcome(Call("c1", "pay", "{}"), "cancelled", "It was stopped."), "It was stopped after 8 seconds."),
        (
            ToolOutcome(Call("c1", "pay", "{}"), "unknown", "Nobody knows."),
            "It was stopped after 8 seconds. Whether it took effect is not known.",
        ),
    ],
)
def test_a_late_end_is_added_to_the_row_and_what_the_model_read_stays(
    cast: Cast, status: str, outcome: ToolOutcome, said: str
) -> None:
    run = make_run(make_conversation(cast.alice, cast.support))
    row = ToolCall.objects.create(
        tenant=cast.acme, run=run, call_id="c1", name="pay", status=status, result="Not waited for."
    )
    late = replace(outcome, duration_ms=8000)
    foreign = replace(key_of(run, owner="here"), tenant_id=cast.globex.pk)
    record_late_outcome(calls=calls_of_run(foreign), outcome=late)
    row.refresh_from_db()
    assert row.result == "Not waited for."
    record_late_outcome(calls=calls_of_run(key_of(run, owner="here")), outcome=late)
    row.refresh_from_db()
    assert (row.result, row.told, row.status) == (outcome.content, "Not waited for.", status)
    assert row.error.endswith(said)


@pytest.mark.parametrize("status", ["ok", "error"])
def test_a_call_that_was_waited_for_stays_as_it_is(cast: Cast, status: str) -> None:
    run = make_run(make_conversation(cast.alice, cast.support))
    row = ToolCall.objects.create(tenant=cast.acme, run=run, call_id="c1", name="pay", status=status, result="Paid 5.")
    record_late_outcome(
        calls=calls_of_run(key_of(run, owner="here")), outcome=ToolOutcome(Call("c1", "pay", "{}"), "ok", "Paid 6.")
    )
    row.refresh_from_db()
    assert row.result == "Paid 5."


released = threading.Event()


@tool(timeout=0.05)
def charge() -> str:
    """Charge."""
    released.wait(30)
    return "Charged 5 euro."


@pytest.mark.django_db(transaction=True)
async def test_the_late_end_of_a_call_outside_of_a_run_is_added_to_its_row(cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "charge")
    alice = await sync_to_async(find_member)(user_id=cast.alice.pk, tenant_slug="acme")
    assert alice is not None
    released.clear()
    with catalogue.using(Registry([charge])):
        called = await call_tool(member=alice, call=Call("c1", "charge", "{}"))
    assert called.outcome.status == "timeout"
    released.set()
    async with asyncio.timeout(30):
        while not (row := await ToolCall.objects.aget(call_id="c1", tenant=cast.acme)).told:
            await asyncio.sleep(0.01)
    assert (row.status, row.result) == ("timeout", "Charged 5 euro.") and "was not waited for" in row.told
    assert "It completed after" in row.error
