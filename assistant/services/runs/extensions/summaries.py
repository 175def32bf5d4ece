"""Summarises a long conversation after a run."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.core.values.history_window import estimate
from assistant.services.conversations.summaries import summarise_conversation
from assistant.services.eventlog.log import SUMMARY
from assistant.services.runs.extensions.run_extension import FinishedRun, RunExtension

# The share of the token limit above which a conversation is summarised, after a run, so that no answer waits for it.
SUMMARISE_ABOVE = 0.8
# Tokens that a run usually adds at most. Of one that adds more, the conversation is summarised after the next run.
ADDED_BY_RUN = 4_000


@dataclass(frozen=True)
class Summaries(RunExtension[None]):
    """Lets the model that answered summarise the older part of a conversation that nearly fills what it is sent."""

    async def followed(self, run: FinishedRun) -> None:
        most = run.plan.settings.history_tokens * SUMMARISE_ABOVE
        if sum(map(estimate, (*run.plan.messages, *run.messages))) <= most:
            return
        answered_by = run.answered_by
        if await summarise_conversation(
            key=run.key, model=answered_by.model, prices=answered_by.prices, tokens=int(most)
        ):
            await run.log.publish_change(run.key.thread, SUMMARY)
