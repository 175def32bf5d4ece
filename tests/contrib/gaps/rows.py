"""Searches as runs store them."""

from __future__ import annotations

import json
from typing import Any

from assistant.models import Document, Feedback, Run, ToolCall
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run


def result_of(*documents: Document) -> str:
    """Return the result of a search that has found the first passage of each."""
    found = [{"number": f"{one.pk}.1", "text": "…", "source_id": f"doc-{one.pk}.1"} for one in documents]
    return json.dumps({"results": found, "note": ""}, separators=(",", ":"))


def search(run: Run, *documents: Document, queries: tuple[str, ...] = ("dog premises",), **fields: Any) -> ToolCall:
    """Store a search of a run."""
    values = {"call_id": f"c{run.tool_calls.count()}", "name": "search_docs", "status": "ok", **fields}
    return ToolCall.objects.create(
        tenant=run.tenant,
        run=run,
        arguments=json.dumps({"queries": queries}),
        result=result_of(*documents),
        **values,
    )


def asked(cast: Cast, question: str, *documents: Document, rival: bool = False, rating: int = 0, **fields: Any) -> Run:
    """Store a run in which a question was asked, searched for, and answered; `rating` if it was rated."""
    user, assistant = (cast.mallory, cast.rival_support) if rival else (cast.alice, cast.support)
    run = make_run(make_conversation(user, assistant), **fields)
    make_message(run.conversation, "user", question, run=run)
    search(run, *documents)
    answer = make_message(run.conversation, "assistant", "An answer.", run=run)
    if rating:
        Feedback.objects.create(tenant=run.tenant, user=run.user, message=answer, rating=rating)
    return run
