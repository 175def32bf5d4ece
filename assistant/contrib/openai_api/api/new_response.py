"""A response that is about to begin: its id, its run, and what collects its events."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, field

from assistant.contrib.openai_api.api.response_events import ResponseEvents
from assistant.contrib.openai_api.services.responses.ids import response_id
from assistant.contrib.openai_api.services.responses.in_conversation import conversation_input, find_conversation
from assistant.contrib.openai_api.services.responses.prepare import stateless_input
from assistant.contrib.openai_api.services.responses.request import ResponseRequest
from assistant.contrib.openai_api.services.responses.stored import writer_for
from assistant.contrib.openai_api.services.stateless_runs import open_stateless
from assistant.services.db.threads import in_database
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.tenancy.members import Member

NAMESPACE = uuid.UUID("6f1f6f5e-3f0b-4c55-9c3c-5d0f9f6c8d21")


@dataclass(frozen=True, slots=True)
class NewResponse:
    """A response that is about to begin.

    Attributes:
        conversation: the id of its conversation's row.
        is_new: whether that begins with it.
    """

    id: str
    wanted: ResponseRequest
    conversation: uuid.UUID
    is_new: bool
    unstored: frozenset[str] = field(default_factory=frozenset)

    def collector(self) -> ResponseEvents:
        """Return what collects its events."""
        wanted = self.wanted
        return ResponseEvents(self.id, wanted.echo, writer_for(self.conversation, wanted.model, wanted.echo))

    async def open_run(self, member: Member) -> OpenedRun:
        """Start its run. Raises `Refused`."""
        wanted = self.wanted
        if wanted.conversation:
            given = await in_database(
                conversation_input,
                member=member,
                wanted=wanted,
                response=self.id,
                conversation=self.conversation,
                is_new=self.is_new,
            )
            return await get_runs().open(member=member, assistant_slug=wanted.model, given=given)
        stateless = await in_database(
            stateless_input, member=member, wanted=wanted, response=self.id, unstored=self.unstored
        )
        return await open_stateless(member=member, assistant_slug=wanted.model, given=stateless)


def new_response(
    member: Member, wanted: ResponseRequest, mark: str = "", unstored: Collection[str] = ()
) -> NewResponse:
    """Return a new response of a member. Queries the database for one in a conversation.

    Args:
        mark: a text that is the same for each repetition of the request, so that these have the same id; "" without
            one.
        unstored: ids of responses that were not stored and may be continued nevertheless.
    """
    own = uuid.uuid5(NAMESPACE, mark) if mark else uuid.uuid4()
    if not wanted.conversation:
        return NewResponse(response_id(own), wanted, own, True, frozenset(unstored))
    found = find_conversation(member=member, assistant=wanted.model, name=wanted.conversation)
    conversation = found or own
    return NewResponse(response_id(conversation, own), wanted, conversation, found is None)
