"""Opens a run: stores its row and messages, and reads all that it needs, in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from assistant.core.conversation.paths import WHOLE
from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.messages import Message
from assistant.models import Assistant, Conversation, Run
from assistant.models.fields import OnDisconnect, WhenBusy
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.errors import Refused
from assistant.services.limits.api_key_requests import count_run
from assistant.services.roles import shares_runs
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs.extensions.page import with_page
from assistant.services.runs.opening.begin_run import begin_run
from assistant.services.runs.opening.busy_thread import FreeAgain, ThreadBusy, refusal_of_busy
from assistant.services.runs.opening.client_input import to_store
from assistant.services.runs.opening.followed_path import (
    Followed,
    as_version,
    begin_branch,
    cut_path,
    followed_path,
    model_that_goes_on,
)
from assistant.services.runs.opening.known_runs import AnsweredAlready, check_readable, known_run, name_of
from assistant.services.runs.opening.known_thread import known_thread, unknown_thread
from assistant.services.runs.opening.new_input import check_decisions, extract_new_input, request_to_go_on
from assistant.services.runs.opening.opening_query import OpeningState, choose_version, read_opening_state
from assistant.services.runs.opening.run_extensions import extensions_of
from assistant.services.runs.opening.run_setup import OpenedRun, RunName, RunSetup
from assistant.services.runs.opening.sent_files import check_files, check_model_reads, with_file_contents
from assistant.services.runs.prompt_tests import TESTED_VERSION, TestedRun, prompt_tests
from assistant.services.runs.run_input import CallerSettings, RunInput
from assistant.services.tenancy.members import KeyLimits, Member
from assistant.services.toolcalls.later_results import Waits, later_results
from assistant.toolkit.context import UserId

TITLE_LENGTH = 80
# The title of a conversation that begins with files and no text.
TITLE_OF_FILES = "Files"
FROM_START = Followed(WHOLE, [])
# How often opening is tried if another run of the same thread is opened at the same time.
MAX_ATTEMPTS = 3


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
            `attachment_refused`; `approval_forbidden`, as `OwnApproval`; `test_forbidden`; or
            `quota_exceeded`, as `QuotaReached` or `TooManyRequests`; or `limit_reached`, as `TooManyRuns`.
    """
    if given.thread_key:
        given = known_thread(member=member, assistant_slug=assistant_slug, given=given)
    attempts_left = MAX_ATTEMPTS
    while True:
        attempts_left -= 1
        try:
            opened = _open_once(
                member,
                assistant_slug,
                given,
                owner=owner,
                decided_by=decided_by or member.user_id,
                must_wait=must_wait,
                is_counted=is_counted,
                when_busy=when_busy,
            )
            history = () if opened.setup is None else opened.setup.history
            # The contents of files are read after the transaction.
            return with_file_contents(opened) if [message for message in history if message.attachments] else opened
        except _KeyIsLimited as limited:
            # In a transaction of its own, so that it is counted even if the run is refused.
            count_run(member=member, limits=limited.limits)
            is_counted = False
            attempts_left += 1
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


class _KeyIsLimited(Exception):
    """The API key has request limits, towards which the run has to be counted before it is opened."""

    def __init__(self, limits: KeyLimits) -> None:
        super().__init__()
        self.limits = limits


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
    if state.conversation is not None and (state.same_run is not None or given.resume):
        known = known_run(given=given, conversation=state.conversation, same_run=state.same_run)
        if known is not None:
            check_readable(known, member)
            return OpenedRun(key_of(known, owner), is_fresh=known.is_fresh)
    if state.is_busy:
        raise refusal_of_busy(member=member, given=given, state=state, default=when_busy)
    where = _where(member, state, given)
    new = _what_is_new(where, state, decided_by)
    return _begin(member, state, where, new, owner=owner, decided_by=decided_by, must_wait=must_wait)


class _Where(NamedTuple):
    """The place of the run: its conversation and the path that it goes on.

    Attributes:
        run_input: as a version of a message, if it is one.
        has_message: whether the conversation has the input's message already.
        test: of a prompt; None for any other run.
    """

    conversation: Conversation
    followed: Followed
    run_input: RunInput
    has_message: bool
    test: TestedRun | None


def _where(member: Member, state: OpeningState, given: RunInput) -> _Where:
    found = state.conversation
    test = None
    if TESTED_VERSION in given.options.added or (found is not None and found.test_tools):
        given, test = prompt_tests().tested(member=member, conversation=found, given=given)
        choose_version(state=state, version_id=test.version)
    if found is None:
        conversation = _new_conversation(member, state.assistant, given, "" if test is None else test.tools)
        return _Where(conversation, FROM_START, given, has_message=False, test=test)
    options = given.options
    names_place = options.follows is not None or options.replaces or given.history.parent or given.history.asked_last
    if found.branches or state.has_message or given.resume or names_place:
        run_input, has_message = as_version(given, found, has_message=state.has_message)
        followed = followed_path(run_input, found, has_message=has_message)
        return _Where(found, followed, run_input, has_message, test)
    history = recent_messages(conversation=found, path=WHOLE)
    is_cut = bool(given.history.before and history) and given.history.before[0][0] != history[-1].id
    followed = cut_path(given.history.before, found, history) if is_cut else Followed(WHOLE, history)
    return _Where(found, followed, given, has_message=False, test=test)


class _New(NamedTuple):
    """What the input adds.

    Attributes:
        rows: messages to store.
        messages: the conversation with them, as the model reads it.
        is_message: whether it counts as a message of the user. Answers to approvals, and results that have come for
            calls, do not.
    """

    rows: Sequence[Message]
    messages: tuple[Message, ...]
    decisions: Mapping[str, Decision]
    waits: Waits
    is_message: bool


def _what_is_new(where: _Where, state: OpeningState, decided_by: UserId) -> _New:
    given = where.run_input
    conversation = where.conversation
    followed = where.followed
    history = followed.history
    rows, decisions, waits = extract_new_input(given, history, decided_by, conversation, has_message=where.has_message)
    is_answer = bool(decisions) or waits.is_answer
    if followed.branching is not None:
        begin_branch(conversation=conversation, branching=followed.branching, is_answer=is_answer)
    told = () if given.asked is None else instructions_of(given.asked)
    messages: tuple[Message, ...] = (*history, *told, *(rows or request_to_go_on(history)))
    if state.assistant.takes_context and given.page:
        messages = with_page(messages, given.page)
    roles = {message.role for message in rows}
    return _New(rows, messages, decisions, waits, is_message="user" in roles or not (is_answer or "tool" in roles))


def _begin(
    member: Member, state: OpeningState, where: _Where, new: _New, *, owner: str, decided_by: UserId, must_wait: bool
) -> OpenedRun:
    """Store the run, and check what can be checked only then."""
    given = where.run_input
    conversation = where.conversation
    history = where.followed.history
    assistant = state.assistant
    test = where.test
    run, setup = begin_run(
        member=member,
        state=state,
        conversation=conversation,
        name=name_of(given, is_known=state.same_run is not None) if given.resume else RunName(given.run_id),
        follows=given.options.follows or given.history.parent,
        path=where.followed.path,
        owner=owner,
        must_wait=must_wait,
        history=new.messages,
        new=new.rows,
        messages=int(new.is_message),
        allowed_tools=given.options.allowed_tools,
        is_test=test is not None,
        model=given.options.model or ("" if given.message else model_that_goes_on(assistant, conversation, history)),
        client_input=to_store(given, new.decisions),
    )
    if given.on_begun is not None:
        given.on_begun(run)
    if new.waits.rows:
        later_results().give_to(run, new.waits)
    if [message for message in new.rows if message.attachments]:
        check_files(new.rows, tenant=assistant.tenant)
        check_model_reads(new.rows, tenant=assistant.tenant, provider=setup.provider)
    key = key_of(run, owner)
    setup = with_input(
        setup, given, new.decisions, key=key, assistant=assistant, test=test, tools_off=conversation.tools_off
    )
    if new.decisions:
        who = {"tenant": assistant.tenant, "asked_by": conversation.user_id, "decided_by": decided_by}
        tools = setup.tools
        for extension in setup.extensions:
            if "changed" in extension.run_hooks:
                tools = tuple(replace(entry, tool=extension.changed(entry.tool)) for entry in tools)
        check_decisions(new.decisions, history, tools, **who)
    if given.asked is None and setup.queued is not None and test is None and shares_runs():
        Run.objects.filter(pk=run.pk, tenant_id=run.tenant_id).update(is_shared=True)
        setup = replace(setup, queued=replace(setup.queued, is_shared=True))
    return OpenedRun(key, setup, on_disconnect=given.options.on_disconnect or OnDisconnect(assistant.on_disconnect))


def with_input(
    setup: RunSetup,
    given: RunInput,
    decisions: Mapping[str, Decision],
    *,
    key: RunKey,
    assistant: Assistant,
    test: TestedRun | None = None,
    tools_off: Collection[str] = (),
) -> RunSetup:
    """Return the setup of a run, changed as its input says, besides its messages.

    Args:
        test: of a prompt; None for any other run.
        tools_off: the names of tools that are off in the conversation.
    """
    return replace(
        setup,
        decisions=decisions,
        extensions=extensions_of(
            key=key,
            assistant=assistant,
            setup=setup,
            run_input=given,
            client_tools=given.client_tools,
            asked=given.asked,
            test=test,
            tools_off=tools_off,
        ),
        language=given.language,
    )


def instructions_of(asked: CallerSettings) -> tuple[Message, ...]:
    """Return the caller's instructions for the model in this run alone."""
    told = asked.instructions
    return (Message("user", told, id=uuid.uuid4().hex),) if told.strip() else ()


def _new_conversation(member: Member, assistant: Assistant, given: RunInput, test_tools: str) -> Conversation:
    """Store a new conversation. Raises `IntegrityError` if there is one with its id, or its key."""
    if given.message is None:
        raise Refused("thread_not_found", _("There is no such conversation."))
    return Conversation.objects.create(
        pk=given.thread_id,
        thread_key=given.thread_key,
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant=assistant,
        title=" ".join(given.message.text.split())[:TITLE_LENGTH] or TITLE_OF_FILES,
        test_tools=test_tools,
    )
