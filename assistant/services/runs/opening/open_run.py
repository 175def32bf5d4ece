"""Opens a run: stores its row and messages, and reads all that it needs, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import CharField, Func
from django.utils.translation import gettext as _

from assistant.core.conversation.paths import WHOLE, Path
from assistant.core.values.limits import Allowance
from assistant.core.values.messages import Message
from assistant.models import Assistant, Conversation, Run
from assistant.services.assistants.configuration import settings_of
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.soft_threshold import soft_model
from assistant.services.conversations.stored_messages import store_messages
from assistant.services.conversations.summaries import summary_of
from assistant.services.db.fast_paths.prepared_writes import PreparedInsert
from assistant.services.errors import Refused
from assistant.services.limits.api_key_requests import count_run
from assistant.services.limits.quota_ledger import reserve_run
from assistant.services.limits.runs_at_once import exceeds_limits, key_of_run, limits_of, queued_run
from assistant.services.run_key import key_of
from assistant.services.runs.kept_requests import keeps_requests
from assistant.services.runs.leases import LEASE_END
from assistant.services.runs.opening.configured_setup import chosen_provider, setup_of
from assistant.services.runs.opening.expected_use import UNCOUNTED, estimate_of_run
from assistant.services.runs.opening.followed_path import Followed, begin_branch, followed_path, model_that_goes_on
from assistant.services.runs.opening.new_input import check_decisions, extract_new_input, request_to_go_on
from assistant.services.runs.opening.opening_query import OpeningState, read_opening_state
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.runs.opening.sent_files import check_files, with_file_contents
from assistant.services.runs.opening.tested_prompt import tested_prompt
from assistant.services.runs.opening.tool_answers import ToolAnswers
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import KeyLimits, Member
from assistant.services.tenancy.quotas import quotas_of
from assistant.toolkit.context import UserId

TITLE_LENGTH = 80
# Of a conversation that begins with files and no text.
TITLE_OF_FILES = "Files"
FROM_START = Followed(WHOLE, [])
# How often opening is tried if another run of the same thread is opened at the same time.
MAX_ATTEMPTS = 3
# Set afterwards where a model was replaced, so that the other runs, which are most, send no value.
_NO_REPLACED_MODEL = Func(template="''", output_field=CharField())
_RUNS = PreparedInsert(Run, lease_until=LEASE_END, replaced_model=_NO_REPLACED_MODEL)
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
) -> OpenedRun:
    """Open a run of a member, or find the existing run with the same id.

    Args:
        given: the client's input.
        owner: the id of the process that will work on the run.
        decided_by: the operator who answers approvals on the member's behalf; None for the member.
        is_counted: whether the run counts towards the request limits of the member's API key. Requests over HTTP have
            been counted before.
        must_wait: the process has as many runs as it may, so that the run is queued.

    Raises:
        Refused: `thread_not_found`, `thread_busy`, or `invalid_input` if there is nothing new to answer;
            `attachment_refused`; `approval_forbidden`, as `OwnApproval`; `test_forbidden`, as `TestingForbidden`; or
            `quota_exceeded`, as `QuotaReached` or `TooManyRequests`; or `limit_reached`, as `TooManyRuns`.
    """
    opening = partial(
        _open, member, assistant_slug, given, owner=owner, decided_by=decided_by or member.user_id, must_wait=must_wait
    )
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
    for attempts_left in reversed(range(MAX_ATTEMPTS)):
        try:
            return _open_once(member, assistant_slug, given, is_counted=is_counted, **how)
        except IntegrityError as exc:
            own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
            if not own.filter(pk=given.thread_id, assistant__slug=assistant_slug).exists():
                sentence = _("There is no such conversation with this assistant.")
                raise Refused("thread_not_found", sentence) from exc
            # Another run of this thread, or the thread itself, was created at the same time, and can now be read.
            if not attempts_left:
                raise
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
) -> OpenedRun:
    message_id = given.message.id if given.message else ""
    state = read_opening_state(member, assistant_slug, given.thread_id, run_id=given.run_id, message_id=message_id)
    if state is None:
        raise Refused("thread_not_found", _("This assistant is not available."))
    if is_counted and state.key_limits is not None:
        raise _KeyIsLimited(state.key_limits)
    if state.same_run is not None:
        run = Run.objects.filter(tenant_id=member.tenant_id, conversation=given.thread_id).get(pk=state.same_run)
        check_readable(run, member)
        return OpenedRun(key_of(run, owner), is_fresh=run.is_fresh)
    if state.is_busy:
        raise Refused("thread_busy", _("This conversation is still being answered. Wait for it, or stop it."))
    test = tested_prompt(member=member, state=state, wanted=given.test)
    found = state.conversation
    followed = FROM_START if found is None else followed_path(given, found, has_message=state.has_message)
    history = followed.history
    conversation = found or _new_conversation(member, state.assistant, given, "" if test is None else test.tools)
    new_rows, decisions = extract_new_input(given, history, decided_by, conversation, has_message=state.has_message)
    if followed.branching is not None:
        begin_branch(conversation=conversation, branching=followed.branching, is_answer=bool(decisions))
    run, setup = begin_run(
        member=member,
        state=state,
        conversation=conversation,
        run_id=given.run_id,
        follows=given.follows or given.parent,
        path=followed.path,
        owner=owner,
        must_wait=must_wait,
        history=(*history, *(new_rows or request_to_go_on(history))),
        new=new_rows,
        # Answers to approvals and client-side calls are not messages of the user.
        messages=0 if decisions or any(message.role == "tool" for message in new_rows) else 1,
        allowed_tools=given.allowed_tools,
        answers=None if test is None else test.answers,
        model=given.model or ("" if given.message else model_that_goes_on(state.assistant, conversation, history)),
    )
    check_files(new_rows, tenant=state.assistant.tenant, provider=setup.provider)
    if decisions:
        who = {"tenant": state.assistant.tenant, "asked_by": conversation.user_id, "decided_by": decided_by}
        check_decisions(decisions, history, setup.tools, **who)
    if given.output_schema:
        setup = replace(setup, settings=replace(setup.settings, answer_schema=given.output_schema))
    setup = replace(setup, client_tools=given.client_tools, decisions=decisions)
    return OpenedRun(key_of(run, owner), setup)


def check_readable(run: Run, member: Member) -> None:
    """Raise `Refused` for a run that another key began, if the member's key may read its own runs alone."""
    if member.reads_only_own_runs and run.api_key_id != member.key_id:
        raise Refused("invalid_input", "This key may only follow the runs that it began.")


def begin_run(
    *,
    member: Member,
    state: OpeningState,
    conversation: Conversation,
    run_id: str,
    owner: str,
    must_wait: bool,
    history: tuple[Message, ...],
    new: Sequence[Message],
    messages: int,
    allowed_tools: frozenset[str] | None = None,
    follows: str = "",
    path: Path = WHOLE,
    answers: ToolAnswers | None = None,
    model: str = "",
) -> tuple[Run, RunSetup]:
    """Store a run and its new messages, and return its setup by the assistant's configuration.

    Args:
        state: from `read_opening_state`.
        must_wait: as for `open_run`.
        history: the messages of the conversation, the `new` ones last.
        messages: what the run counts towards quotas of messages, 1 or 0.
        allowed_tools: the names of the only tools to offer; None for all.
        follows: the id of the run that the client says it follows; it is kept for the record.
        path: the path of the conversation that `history` is the end of.
        answers: how tools are answered in a test; None for any other run.
        model: one of the assistant's other models; "" for its own.

    Raises:
        Refused: `invalid_input`, if the assistant does not list the model.
        QuotaReached: the tenant or the member has used up a quota.
        TooManyRuns: a limit of runs at once is reached, and the queue is full.
    """
    assistant = state.assistant
    choice, quotas = chosen_provider(assistant, model), quotas_of(assistant.tenant, is_end_user=member.is_end_user)
    is_queued = (
        exceeds_limits(member=member, limits=limits_of(quotas, state.key_runs), active=state.active) or must_wait
    )
    setup = setup_of(member=member, state=state, choice=choice, quotas=quotas, allowed_tools=allowed_tools)
    expected = UNCOUNTED
    allowances: tuple[Allowance, ...] = ()
    if quotas.counted:
        expected = estimate_of_run(assistant, setup, history, messages)
        allowances = reserve_run(tenant_id=member.tenant_id, user_id=member.user_id, quotas=quotas, expected=expected)
    soft = soft_model(assistant=assistant, quotas=quotas, reserved=expected.cost) if quotas.counted else None
    own = choice
    if soft is not None:
        choice = soft.instead_of(choice, assistant)
        setup = replace(setup, provider=choice, settings=settings_of(assistant, choice))
    replaced = "" if choice is own or choice.label == own.label else own.label
    run = _RUNS.insert(
        Run(
            tenant_id=member.tenant_id,
            conversation=conversation,
            user_id=member.user_id,
            assistant=assistant,
            api_key_id=key_of_run(member),
            run_id=run_id,
            follows=follows,
            number=conversation.run_count + 1,
            status=Run.Status.QUEUED if is_queued else Run.Status.RUNNING,
            prompt_version_id=getattr(assistant, "published_id"),  # noqa: B009 - an annotation the type does not know
            provider_name=choice.name,
            model=choice.model,
            reserved_tokens=expected.tokens,
            reserved_cost=expected.cost,
            lease_owner=owner,
            is_test=answers is not None,
        )
    )
    if replaced:
        Run.objects.filter(pk=run.pk, tenant_id=member.tenant_id).update(replaced_model=replaced)
    store_messages(
        conversation_id=conversation.pk, run_id=run.pk, messages=new, first_position=conversation.message_count
    )
    summary, summary_sources = summary_of(conversation, path)
    return run, replace(
        setup,
        soft=soft,
        replaced_model=replaced,
        fallback=fallback_of(assistant=assistant, choice=choice, own=own),
        keeps_requests=keeps_requests(assistant.tenant),
        history=history,
        summary=summary,
        summary_sources=summary_sources,
        position=conversation.message_count + len(new),
        allowances=allowances,
        queued=queued_run(member, run.pk, state.key_runs) if is_queued else None,
        answers=answers,
        has_webhooks=setup.has_webhooks and answers is None,
    )


def _new_conversation(member: Member, assistant: Assistant, given: RunInput, test_tools: str) -> Conversation:
    """Store a new conversation. Raises `IntegrityError` if any tenant has one with this id."""
    if given.message is None:
        raise Refused("thread_not_found", _("There is no such conversation."))
    return _CONVERSATIONS.insert(
        Conversation(
            pk=given.thread_id,
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            assistant=assistant,
            title=" ".join(given.message.text.split())[:TITLE_LENGTH] or TITLE_OF_FILES,
            test_tools=test_tools,
        )
    )
