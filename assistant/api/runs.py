"""Runs without a stream: start, read and cancel them, and decide on calls that need approval."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import AsyncTenantView, TenantView, idempotent_async, validated
from assistant.api.cross_origin import CrossOriginView
from assistant.api.event_stream import RunReader
from assistant.api.serializers import ApprovalOut, DecisionsIn, RunIn, RunOut
from assistant.models import Approval
from assistant.services.conversations.conversations import find_conversation
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.run_key import RunKey
from assistant.services.runs.approvals import pending_of_member, resume_of
from assistant.services.runs.idempotency import fingerprint
from assistant.services.runs.input.ids import parse_id
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.runs.manager import get_runs
from assistant.services.runs.reading.run_result import assistant_of_run, run_outcome
from assistant.services.runs.reading.thread_snapshot import find_run
from assistant.services.runs.run_input import RunInput, TextMessage, parse_text
from assistant.services.tenancy.members import Member

NO_CALL = "No call waits in this run."
RUN_ID_NAMESPACE = uuid.UUID("6f1d1c0e-4d2b-4e0f-8a53-0c6f4c8e7b21")


class RunningView(AsyncTenantView):
    """A view that starts runs."""

    async def answer(self, request: Request, key: RunKey, *, wait: bool) -> Response:
        """Return the run's outcome: once it has ended if `wait`, otherwise as it is now.

        Raises:
            HttpRefusal: 401, the caller lost access while waiting.
        """
        if wait:
            reader = RunReader(self.caller)
            async with aclosing(reader.entries(key)) as entries:
                async for _ in entries:
                    pass
            if not reader.has_access:
                raise HttpRefusal(401, "unauthorized", "The API key or session has ended; the run goes on.")
        outcome = await in_database(run_outcome, member=self.member, key=key)
        return Response(RunOut(outcome).data, status=201 if wait else 202)

    def run_of(self, request: Request) -> str:
        return self.new_run_id(request)

    def new_run_id(self, request: Request) -> str:
        """Return an id for the run. A repeat with the same `Idempotency-Key` gets the same id, and so joins the run."""
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return str(uuid.uuid4())
        mark = fingerprint(method=request.method or "", path=request.path, body=request.data)
        return str(uuid.uuid5(RUN_ID_NAMESPACE, f"{self.member.tenant_id} {self.member.user_id} {key} {mark}"))


def own_run(member: Member, run_id: str, *, to_read: bool = False) -> RunKey:
    """Return the key of a member's own run. Raises `HttpRefusal` (404) for any other.

    `to_read` also refuses runs that the member's key may not read.
    """
    key = find_run(member=member, run_id=parse_id(run_id, "runId"), to_read=to_read)
    if key is None:
        raise not_found()
    return key


def _message(given: str) -> str:
    """Return the checked text of a message. Raises `HttpRefusal` if it is empty or too long."""
    try:
        return parse_text(given)
    except Refused as exc:
        raise HttpRefusal(400, exc.code, str(exc), {"message": [str(exc)]}) from exc


def _refuse_repeated(decisions: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ValidationError` if there are two decisions on one call."""
    seen: set[str] = set()
    for number, one in enumerate(decisions):
        if one["call_id"] in seen:
            raise ValidationError({"decisions": {str(number): {"call_id": ["This call has two decisions."]}}})
        seen.add(one["call_id"])


class ConversationRuns(RunningView):
    """Send a message in a conversation."""

    @idempotent_async
    async def post(self, request: Request, thread: uuid.UUID) -> Response:
        given = validated(RunIn, request.data)
        text = _message(given["message"])
        conversation = await in_database(find_conversation, member=self.member, conversation_id=thread)
        if conversation is None or not conversation.assistant.is_active:
            raise not_found()
        run_id = self.new_run_id(request)
        run = RunInput(
            thread_id=thread,
            run_id=run_id,
            message=TextMessage(f"{run_id}-user", text, tuple(given["attachments"])),
            protocol_version="1.0",
        )
        opened = await get_runs().open(member=self.member, assistant_slug=conversation.assistant.slug, given=run)
        return await self.answer(request, opened.key, wait=given["wait"])


class OneRun(TenantView):
    """A run's state."""

    def get(self, request: Request, run_id: str) -> Response:
        return Response(RunOut(run_outcome(member=self.member, key=own_run(self.member, run_id, to_read=True))).data)


class CancelRun(CrossOriginView):
    """Cancel a run."""

    @idempotent_async
    async def post(self, request: Request, run_id: str) -> Response:
        key = await in_database(own_run, self.member, run_id)
        await get_runs().cancel(member=self.member, run_id=key.run_id)
        return Response(status=202)


class Approvals(TenantView):
    """The member's calls that need approval."""

    def get(self, request: Request) -> Response:
        return Response(ApprovalOut(pending_of_member(member=self.member), many=True).data)


class RunApprovals(RunningView):
    """The calls of one run that need approval."""

    @idempotent_async
    async def post(self, request: Request, run_id: str) -> Response:
        given = validated(DecisionsIn, request.data)
        _refuse_repeated(given["decisions"])
        key = await in_database(own_run, self.member, run_id)
        new_run_id = self.new_run_id(request)
        begun = await in_database(find_run, member=self.member, run_id=new_run_id)
        if begun is not None:
            # A repeated request whose first client disconnected: the calls are decided already.
            return await self.answer(request, begun, wait=given["wait"])
        waiting = await in_database(pending_of_member, member=self.member, run_id=key.run_id)
        by_id = {call.call_id: call for call in waiting}
        if {one["call_id"] for one in given["decisions"]} != by_id.keys():
            names = ", ".join(call.call_id for call in waiting)
            sentence = f"One decision is needed for each call that waits: {names}." if names else NO_CALL
            raise HttpRefusal(409, "conflict", sentence, {"decisions": [sentence]})
        decided = RunInput(
            thread_id=key.conversation_id,
            run_id=new_run_id,
            resume=tuple(_resume(one, by_id[one["call_id"]]) for one in given["decisions"]),
            protocol_version="1.0",
        )
        slug = await in_database(assistant_of_run, key=key)
        opened = await get_runs().open(member=self.member, assistant_slug=slug, given=decided)
        return await self.answer(request, opened.key, wait=given["wait"])


def _resume(decision: Mapping[str, Any], call: Approval) -> Resume:
    return resume_of(
        call,
        approved=decision["approved"],
        edited_arguments=decision.get("edited_arguments"),
        reason=decision["reason"],
        response=decision.get("response"),
    )
