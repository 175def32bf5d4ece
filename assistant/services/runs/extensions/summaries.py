"""Summarises a long conversation after a run."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.services.conversations.summaries import summarise_if_long
from assistant.services.eventlog.log import SUMMARY
from assistant.services.runs.extensions.run_extension import FinishedRun, RunExtension


@dataclass(frozen=True)
class Summaries(RunExtension[None]):
    """Lets the model that answered summarise the older part of a conversation that nearly fills what it is sent."""

    follows = True

    async def followed(self, run: FinishedRun) -> None:
        is_new = await summarise_if_long(
            key=run.key,
            model=run.answered_by.model,
            prices=run.answered_by.prices,
            messages=(*run.plan.messages, *run.messages),
            tokens=run.plan.settings.history_tokens,
        )
        if is_new:
            await run.log.publish_change(run.key.thread, SUMMARY)
