"""What the embedded chat model writes as wordings of questions: what its last search of two looks for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assistant.client import ChatClient, Limits, RunFailed
from assistant.library.knowledge import read_document, search_docs
from assistant.models import Tenant
from assistant.providers.embedded import EmbeddedModel, is_ready
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.toolkit import TenantInfo

SYSTEM = "You answer questions of the company's staff from its documents. Search them first."
LOADING_SECONDS = 300.0
# Of one question, on a machine that has other work.
ANSWER_SECONDS = 600.0


def with_written_wordings(cases: Iterable[dict[str, Any]], *, tenant: str, url: str) -> Iterator[dict[str, Any]]:
    """Yield cases with the wordings of the embedded model instead of their own; none where it searches for nothing.

    Args:
        tenant: the slug of the one whose documents it searches, and searches again where nothing surely answers.
        url: the model's server.
    """
    row = Tenant.objects.get(slug=tenant)
    context = {"tenant": TenantInfo(row.pk, row.slug, row.name, row.timezone)}
    client = ChatClient(
        model=EmbeddedModel(url),
        system=SYSTEM,
        tools=[search_docs, read_document],
        context=context,
        limits=Limits(rounds=2, seconds=ANSWER_SECONDS),
    )
    with asyncio.Runner() as runner, tenant_scope(row.pk):
        if not runner.run(is_ready(url, seconds=LOADING_SECONDS, absent_seconds=LOADING_SECONDS)):
            raise RuntimeError(f"No model answers at {url}.")
        for case in cases:
            yield {**case, "wordings": runner.run(_wordings(client, case["question"]))}


async def _wordings(client: ChatClient[Any], question: str) -> Sequence[str]:
    try:
        reply = await client.call(question)
    except RunFailed as exc:
        reply = exc.reply
    for call in reversed(reply.tool_calls):
        if call.name == search_docs.name:
            return _texts(call.arguments)
    return []


def _texts(arguments: Mapping[str, Any]) -> list[str]:
    queries = arguments.get("queries")
    return [text for text in queries if isinstance(text, str) and text.strip()] if isinstance(queries, list) else []
