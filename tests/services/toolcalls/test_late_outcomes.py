"""The audit of calls that ended after their run no longer waited for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.models import ToolCall
from assistant.services.run_key import key_of
from assistant.services.toolcalls.run_journal import calls_of_run, record_late_outcome
from tests.base import Cast
from tests.factories import make_conversation, make_run

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
