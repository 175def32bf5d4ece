"""Stores which passages of documents a run's answer names."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.core.conversation.transcript import Transcript
from assistant.core.values.messages import Message
from assistant.services.knowledge.citations import GivenDocument, cited_passages
from assistant.services.runs.extensions.run_extension import RunExtension


@dataclass(frozen=True)
class CitedPassages(RunExtension[None]):
    """Finds the passages that the answer names, or its provider, with their numbers.

    Attributes:
        documents: the attached documents in the history.
    """

    documents: tuple[GivenDocument, ...] = ()

    async def columns(self, history: Sequence[Message], transcript: Transcript) -> Mapping[str, Any]:
        messages = transcript.messages
        citations = transcript.citations
        answer = "\n".join(message.content for message in messages if message.role == "assistant")
        if "[" not in answer and not citations:
            return {}
        # The model was given the results of tools in the history too.
        conversation = [*history, *messages]
        passages = await asyncio.to_thread(cited_passages, self.documents, conversation, answer, citations)
        return {"passages": list(passages)} if passages else {}
