"""Opens a run: stores its row and messages, and reads all that it needs, in one transaction."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from assistant.core.conversation.paths import WHOLE
from assistant.core.values.messages import Message
from assistant.models import Assistant, Conversation, Run
from assistant.models.fields import OnDisconnect, WhenBusy
from assistant.services.db.fast_paths.prepared_writes import PreparedInsert
from assistant.services.errors import Refused
from assistant.services.limits.api_key_requests import count_run
from assistant.services.roles import shares_runs
from assistant.services.run_key import key_of
from assistant.services.runs.extensions.of_run import extensions_of
from assistant.services.runs.opening.begin_run import begin_run
from assistant.services.runs.opening.busy_thread import FreeAgain, ThreadBusy, refusal_of_busy
from assistant.services.runs.opening.client_input import to_store
from assistant.services.runs.opening.followed_path import (
    Followed,
    as_version,
    begin_branch,
    followed_path,
    model_that_goes_on,
)
from assistant.services.runs.opening.known_runs import AnsweredAlready, check_readable, known_run, name_of
from assistant.services.runs.opening.known_thread import known_thread, unknown_thread
from assistant.services.runs.opening.new_input import check_decisions, extract_new_input, request_to_go_on
from assistant.services.runs.opening.opening_query import read_opening_state
from assistant.services.runs.opening.page import with_page
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.runs.opening.sent_files import check_files, check_model_reads, with_file_contents
from assistant.services.runs.opening.tested_prompt import tested_prompt
from assistant.services.runs.run_input import AskedResponse, RunInput
from assistant.services.runs.waits import give_waits_to
from assistant.services.tenancy.members import KeyLimits, Member
from assistant.toolkit.context import UserId

TITLE_LENGTH = 80
# The title of a conversation that begins with files and no text.
TITLE_OF_FILES = "Files"
FROM_START = Followed(WHOLE, [])
# How often opening is tried if another run of the same thread is opened at the same time.
MAX_ATTEMPTS = 3
_CONVERSATIONS = PreparedInsert(Conversation)


def open_run(
    *,
    member: Member,
    assistant_slug: str,
    given: RunInput,
    owner: str,
    decided_by: UserId | None = None,
    is_counted: bool = False,
    must_wait: bool = False,
    when_busy: WhenBusy = WhenBusy.REFUSE,
) -> OpenedRun:
    """Open a run of a member, or find the existing run with the same id.

    Args:
        given: the client's input.
        owner: the id of the process that will work on the run.
        decided_by: the operator who answers approvals on the member's behalf; None for the member.
        is_counted: whether the run counts towards the request limits of the member's API key. Requests over HTTP have
            been counted before.
        must_wait: the process has as many runs as it may, so that the run is queued.
        when_busy: what happens in a busy thread if neither the input nor the assistant's setting says it.

    Raises:
        ThreadBusy: another run of the thread is running or queued.
        Refused: `thread_not_found`, or `invalid_input` if there is nothing new to answer;
            `attachment_refused`; `approval_forbidden`, as `OwnApproval`; `test_forbidden`, as `TestingForbidden`; or
            `quota_exceeded`, as `QuotaReached` or `TooManyRequests`; or `limit_reached`, as `TooManyRuns`.
    """
    who = {"owner": owner, "decided_by": decided_by or member.user_id}
    opening = partial(_open, member, assistant_slug, given, **who, must_wait=must_wait, when_busy=when_busy)
    if is_counted:
        try:
            return with_file_contents(opening(is_counted=True))
        except _KeyIsLimited as limited:
            # In a transaction of its own, so that it is counted even if the run is refused.
            count_run(member=member, limits=limited.limits)
    return with_file_contents(opening())


class _KeyIsLimited(Exception):
    """The API key has request limits, towards which the run has to be counted before it is opened."""

    def __init__(self, limits: KeyLimits) -> None:
        super().__init__()
        self.limits = limits


def _open(
    member: Member,
    assistant_slug: str,
    given: RunInput,
    *,
    is_counted: bool = False,
    **how: Any,
) -> OpenedRun:
    given = known_thread(member=member, assistant_slug=assistant_slug, given=given)
    for attempts_left in reversed(range(MAX_ATTEMPTS)):
        try:
            return _open_once(member, assistant_slug, given, is_counted=is_counted, **how)
        except AnsweredAlready:
            # The same answers may have come twice at the same time: then the run that they began is there now.
            if not attempts_left:
                raise
        except FreeAgain:
            if not attempts_left:
                raise ThreadBusy from None
        except IntegrityError:
            # Another run of this thread, or the thread itself, was created at the same time, and can now be read.
            if not attempts_left:
                raise
            given = unknown_thread(member=member, assistant_slug=assistant_slug, given=given)
    raise AssertionError("the last attempt returns or raises")


@transaction.atomic
def _open_once(
    member: Member,
    assistant_slug: str,
    given: RunInput,
    *,
    owner: str,
    decided_by: UserId,
    must_wait: bool,
    is_counted: bool,
    when_busy: WhenBusy,
) -> OpenedRun:
    message_id = given.message.id if given.message else ""
    state = read_opening_state(member, assistant_slug, given.thread_id, run_id=given.run_id, message_id=message_id)
    if state is None:
        raise Refused("thread_not_found", _("This assistant is not available."))
    if is_counted and state.key_limits is not None:
        raise _KeyIsLimited(state.key_limits)
    found = state.conversation
    known = None if found is None else known_run(given=given, conversation=found, same_run=state.same_run)
    if known is not None:
        check_readable(known, member)
        return OpenedRun(key_of(known, owner), is_fresh=known.is_fresh)
    if state.is_busy:
        raise refusal_of_busy(member=member, given=given, state=state, default=when_busy)
    test = tested_prompt(member=member, state=state, wanted=given.test)
    if found is not None:
        given, has_message = as_version(given, found, has_message=state.has_message)
    else:
        has_message = False
    followed = FROM_START if found is None else followed_path(given, found, has_message=has_message)
    history = followed.history
    conversation = found or _new_conversation(member, state.assistant, given, "" if test is None else test.tools)
    new_rows, decisions, waits = extract_new_input(given, history, decided_by, conversation, has_message=has_message)
    if followed.branching is not None:
        begin_branch(
            conversation=conversation, branching=followed.branching, is_answer=bool(decisions) or waits.is_answer
        )
    # Answers to approvals, and results that have come for calls, are not messages of the user.
    is_answer = bool(decisions) or waits.is_answer or any(message.role == "tool" for message in new_rows)
    question = new_rows or request_to_go_on(history)
    run, setup = begin_run(
        member=member,
        state=state,
        conversation=conversation,
        name=name_of(given, is_known=state.same_run is not None),
        follows=given.follows or given.parent,
        path=followed.path,
        owner=owner,
        must_wait=must_wait,
        history=with_page((*history, *instructions_of(given), *question), given, state.assistant),
        new=new_rows,
        messages=0 if is_answer and all(message.role != "user" for message in new_rows) else 1,
        allowed_tools=given.allowed_tools,
        answers=None if test is None else test.answers,
        model=given.model or ("" if given.message else model_that_goes_on(state.assistant, conversation, history)),
        client_input=to_store(given, decisions),
        response=None if given.asked is None else given.asked.kept,
    )
    give_waits_to(run, waits)
    check_files(new_rows, tenant=state.assistant.tenant)
    check_model_reads(new_rows, tenant=state.assistant.tenant, provider=setup.provider)
    if decisions:
        who = {"tenant": state.assistant.tenant, "asked_by": conversation.user_id, "decided_by": decided_by}
        check_decisions(decisions, history, setup.tools, **who)
    if given.output_schema:
        setup = replace(setup, settings=replace(setup.settings, answer_schema=given.output_schema), can_wait=False)
    key = key_of(run, owner)
    setup = replace(
        setup,
        client_tools=given.client_tools,
        decisions=decisions,
        state=given.state,
        is_unattended=given.is_unattended,
        extensions=extensions_of(key=key, assistant=state.assistant, run_input=given),
        language=given.language,
    )
    if given.asked is not None:
        setup = with_request(setup, given.asked)
    elif setup.queued is not None and test is None and shares_runs():
        Run.objects.filter(pk=run.pk, tenant_id=run.tenant_id).update(is_shared=True)
        setup = replace(setup, queued=replace(setup.queued, is_shared=True))
    on_disconnect = given.on_disconnect or OnDisconnect(state.assistant.on_disconnect)
    return OpenedRun(key, setup, on_disconnect=on_disconnect)


def instructions_of(given: RunInput) -> tuple[Message, ...]:
    """Return the caller's instructions for the model in this run alone."""
    told = "" if given.asked is None else given.asked.instructions
    return (Message("user", told, id=uuid.uuid4().hex),) if told.strip() else ()


def with_request(setup: RunSetup, asked: AskedResponse) -> RunSetup:
    """Return the setup of a run, changed as its request asks; the assistant's own type of answer has precedence."""
    return replace(
        setup,
        settings=replace(setup.settings, options={**setup.settings.options, **asked.options}),
        has_forms=False,
        tool_choice=asked.tool_choice,
        response_format=None if setup.settings.answer_schema else asked.response_format,
        can_wait=False,
    )


def _new_conversation(member: Member, assistant: Assistant, given: RunInput, test_tools: str) -> Conversation:
    """Store a new conversation. Raises `IntegrityError` if there is one with its id, or its key."""
    if given.message is None:
        raise Refused("thread_not_found", _("There is no such conversation."))
    return _CONVERSATIONS.insert(
        Conversation(
            pk=given.thread_id,
            thread_key=given.thread_key,
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            assistant=assistant,
            title=" ".join(given.message.text.split())[:TITLE_LENGTH] or TITLE_OF_FILES,
            test_tools=test_tools,
        )
    )
