"""The extension that makes the receipt of an answer once it is written, tells clients of it, and stores it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from assistant.contrib.receipts.matching.claims import Done, claims_of
from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.models import Receipt
from assistant.contrib.receipts.services.metrics import count_receipt
from assistant.contrib.receipts.services.readers import for_visitors, titled
from assistant.contrib.receipts.services.receipt import (
    MadeReceipt,
    has_looked_up,
    make_receipt,
    receipt_of_claims,
    since_question,
)
from assistant.core.extensions.extension import ExtensionRun
from assistant.core.values.citations import Citation
from assistant.core.values.messages import Message
from assistant.models import Assistant, Run, ToolCall
from assistant.services import tenant_events
from assistant.services.db.threads import in_database
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.tenancy.end_users import are_identified, is_end_user
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit import Tool

logger = logging.getLogger(__name__)

# How long a run whose answer is written waits for its receipt, in seconds, and for it to be stored.
SECONDS = 5.0
# Calls of a conversation that are read, the newest.
MAX_CALLS = 200


@dataclass(frozen=True)
class Receipts(RunExtension[None]):
    """Ties what the answer of a run says to where it came from, if the run used a tool or a document.

    Attributes:
        descriptions: title and description of the tools of the run, by their names.
        read_only: the names of those that change nothing.
        searches: the names of those that give passages of documents.
        titles: what people call each.
        is_of_visitor: whether an end user follows the run, who is told less.
    """

    name = "assistant.receipts"
    key: RunKey
    timezone: str = "UTC"
    descriptions: dict[str, str] = field(default_factory=dict)
    read_only: frozenset[str] = frozenset()
    searches: frozenset[str] = frozenset()
    titles: dict[str, str] = field(default_factory=dict)
    is_of_visitor: bool = False

    async def check_answer(self, run: ExtensionRun[None], answer: Any) -> Any:
        messages = run.messages
        last = messages[-1] if messages and messages[-1].role == "assistant" else None
        if last is None or not run.text.strip() or not isinstance(answer, str):
            return answer
        conversation = messages[:-1]
        steps = Steps()
        try:
            async with asyncio.timeout(SECONDS):
                receipt = await self._made(run.text, conversation, run.citations, steps)
        except Exception:
            # The answer stands without it.
            logger.exception("The answer of run %s is not checked", self.key.run_id)
            receipt = MadeReceipt([], [], is_checked=False)
        finally:
            steps.stop()
        if receipt.marks or receipt.actions or not receipt.is_checked:
            run.tell("answer.receipts", self._told(last.id, receipt))
            tools = sorted({call.name for message in since_question(conversation) for call in message.tool_calls})
            async with asyncio.timeout(SECONDS):
                await in_database(store, key=self.key, message_id=last.id, receipt=receipt, tools=tools)
        return answer

    async def _made(
        self, answer: str, conversation: Sequence[Message], citations: Sequence[Citation], steps: Steps
    ) -> MadeReceipt:
        has_sources = has_looked_up(conversation) or citations
        if not has_sources and not await asyncio.to_thread(claims_of, answer, self._changing):
            return MadeReceipt([], [])
        calls = await in_database(calls_of, key=self.key, descriptions=self.descriptions, read_only=self.read_only)
        if not has_sources:
            return await asyncio.to_thread(receipt_of_claims, answer, calls=calls, tools=self._changing)
        now = timezone.now().astimezone(ZoneInfo(self.timezone))
        # Even of a short answer it is too much for the event loop.
        return await asyncio.to_thread(
            make_receipt,
            answer,
            messages=conversation,
            calls=calls,
            now=now,
            searches=self.searches,
            citations=citations,
            steps=steps,
        )

    @property
    def _changing(self) -> list[Done]:
        """The tools of the run that change something."""
        known = self.descriptions.items()
        return [Done(name, text) for name, text in known if name not in self.read_only]

    async def stored(self) -> None:
        with suppress(*OUTAGE_ERRORS):  # the run has ended, and its counts are in its row
            await in_database(count_receipt, key=self.key)

    def _told(self, message_id: str, receipt: MadeReceipt) -> dict[str, Any]:
        value = {"messageId": message_id, "marks": receipt.marks, "actions": receipt.actions}
        if not receipt.is_checked:
            return {**value, "notChecked": True}
        if not self.is_of_visitor:
            return value
        marks = [
            {**mark, "sources": [titled(source, self.titles) for source in mark["sources"]]} for mark in receipt.marks
        ]
        return for_visitors({**value, "marks": marks})


def receipts_of(key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool]) -> Sequence[Receipts]:
    """Return the extension of a run."""
    warm_up()
    known = [entry.tool for entry in tools]
    return (
        Receipts(
            key=key,
            timezone=assistant.tenant.timezone,
            descriptions={tool.name: f"{tool.title or ''} {tool.description[:300]}" for tool in known},
            read_only=frozenset(tool.name for tool in known if tool.read_only),
            searches=frozenset(tool.name for tool in known if _gives_passages(tool)),
            titles={tool.name: tool.title or tool.name.replace("_", " ") for tool in known},
            is_of_visitor=are_identified() and is_end_user(user_id=key.user_id),
        ),
    )


def _gives_passages(tool: Tool) -> bool:
    """Whether a tool's results are like those of `search_docs`, by their schema."""
    schema: Mapping[str, Any] = tool.output_schema or {}
    items = schema.get("properties", {}).get("results", {}).get("items", {})
    name = str(items.get("$ref", "")).rpartition("/")[2]
    described = schema.get("$defs", {}).get(name, items)
    return bool({"number", "source_id", "source", "text"} <= described.get("properties", {}).keys())


@cache
def warm_up() -> None:
    """Load languages and compile patterns, which takes some tenths of a second, in the thread that opens a run."""
    make_receipt("5 EUR on 3 May. I have sent it.", messages=(), calls=(), now=timezone.now())


def calls_of(*, key: RunKey, descriptions: dict[str, str], read_only: frozenset[str]) -> list[Done]:
    """Return the calls of a run's conversation, the newest first."""
    rows = ToolCall.objects.filter(tenant_id=key.tenant_id, run__conversation=key.conversation_id)
    newest = rows.order_by("-pk").values_list("name", "status")[:MAX_CALLS]
    return [
        Done(name, descriptions.get(name, ""), name in read_only, status == ToolCall.Status.OK)
        for name, status in newest
    ]


@transaction.atomic
def store(*, key: RunKey, message_id: str, receipt: MadeReceipt, tools: Sequence[str]) -> None:
    """Store the receipt of a run's answer, in place of that of an answer that was not accepted."""
    columns = {
        "message_id": message_id[:200],
        # The answer has the values themselves; what is stored here does not repeat them.
        "marks": [{name: mark[name] for name in mark if name != "text"} for mark in receipt.marks],
        "actions": [{name: action[name] for name in action if name != "text"} for action in receipt.actions],
        "values": len(receipt.marks),
        "unsupported": receipt.unsupported,
        "unsupported_actions": receipt.unsupported_actions,
        "tools": list(tools)[:100],
        "is_checked": receipt.is_checked,
    }
    Receipt.objects.update_or_create(run_id=key.pk, tenant_id=key.tenant_id, defaults=columns)
    if key.is_test or not (receipt.unsupported or receipt.unsupported_actions):
        return
    assistant = Run.objects.filter(pk=key.pk, tenant_id=key.tenant_id).values_list("assistant__slug", flat=True).first()
    tenant_events.record_event(
        tenant_id=key.tenant_id,
        event="answer.unsupported",
        data={
            "run_id": key.run_id,
            "assistant": assistant or "",
            "values": len(receipt.marks),
            "unsupported": receipt.unsupported,
            "unsupported_actions": receipt.unsupported_actions,
        },
        event_key=f"answer.unsupported:{key.pk}",
    )
