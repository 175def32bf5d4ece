"""Opens stateless runs, whose caller keeps the history; prompt, tools, limits and audit are as for other runs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from assistant.contrib.openai_api.services.known_marks import with_known_marks
from assistant.core.values.messages import Message
from assistant.models import Conversation, Run
from assistant.services.errors import Refused
from assistant.services.eventlog.configured import configured_log
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs.content_parts import File
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.begin_run import begin_run
from assistant.services.runs.opening.known_runs import check_readable
from assistant.services.runs.opening.open_run import TITLE_LENGTH
from assistant.services.runs.opening.opening_query import choose_version, read_opening_state
from assistant.services.runs.opening.run_extensions import extensions_of
from assistant.services.runs.opening.run_setup import OpenedRun, RunName
from assistant.services.runs.opening.sent_files import check_files, check_model_reads, claimed_files, with_file_contents
from assistant.services.runs.prompt_tests import TestedRun
from assistant.services.runs.run_input import CallerSettings, TextMessage
from assistant.services.tenancy.members import Member
from assistant.toolkit import Tool


@dataclass(frozen=True, slots=True)
class StatelessInput:
    """The validated input of a stateless run.

    Attributes:
        new: the number of new messages, at the end of `messages`. They are stored for the audit.
        question: the id of the user's message to answer, "" if none follows the last answer. The model must be able
            to read its files; of earlier ones a note is enough.
        files: those of the users' messages, by the id of the message.
        thread_id: set if the request may be repeated, so that the repetition finds the run with its id.
        asked: what the caller asks of the requests to the model; None for nothing.
        test: of a prompt; None for any other run.
        follows: the id of the response that it continues; "" for none.
        on_begun: called with the run's row in the transaction that stores it.
    """

    run_id: str
    messages: tuple[Message, ...]
    new: int
    question: str = ""
    files: Mapping[str, tuple[File, ...]] = field(default_factory=dict)
    thread_id: uuid.UUID | None = None
    client_tools: tuple[Tool, ...] = ()
    asked: CallerSettings | None = None
    test: TestedRun | None = None
    follows: str = ""
    on_begun: Callable[[Run], object] | None = None

    @property
    def has_files(self) -> bool:
        """Whether any of its messages comes with files."""
        return bool(self.files)

    @property
    def file_lists(self) -> list[tuple[File, ...]]:
        """The files of each message, which the caller sends again with the history."""
        return list(self.files.values())

    def with_file_lists(self, lists: list[tuple[File, ...]]) -> StatelessInput:
        """Return the input with other files, in the order of `file_lists`."""
        return replace(self, files=dict(zip(self.files, lists, strict=True)))


async def open_stateless(*, member: Member, assistant_slug: str, given: StatelessInput) -> OpenedRun:
    """Open and start a run as `open_stateless_run` does. Raises `Refused`."""
    return await get_runs().open_by(open_stateless_run, member=member, assistant_slug=assistant_slug, given=given)


def open_stateless_run(
    *, member: Member, assistant_slug: str, given: StatelessInput, owner: str, must_wait: bool = False
) -> OpenedRun:
    """Open a run in a conversation of its own, which is in no list and cannot be continued.

    If the conversation `given.thread_id` has a run with this id already, that run is returned, as by `open_run`.

    Raises:
        Refused: `thread_not_found` if the tenant has no such assistant; `invalid_input` if that has no such prompt;
            `quota_exceeded`, as `QuotaReached`; `limit_reached`, as `TooManyRuns`; `attachment_refused`.
    """
    try:
        opened = _open_run(member, assistant_slug, given, owner, must_wait)
    except IntegrityError:
        # The same run was opened at the same time, by an earlier request of the caller, and can now be read.
        opened = _open_run(member, assistant_slug, given, owner, must_wait)
    return with_file_contents(opened)


def discard_unstarted(*, key: RunKey) -> None:
    """Delete a run that ended in the queue, with its conversation, so that the same request can be made again."""
    Conversation.objects.filter(pk=key.conversation_id, tenant_id=key.tenant_id, is_stateless=True).delete()
    configured_log().forget([key.thread])


@transaction.atomic
def _open_run(member: Member, assistant_slug: str, given: StatelessInput, owner: str, must_wait: bool) -> OpenedRun:
    thread_id = given.thread_id or uuid.uuid4()
    if given.thread_id is not None:
        own = Run.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, conversation=thread_id)
        same = own.filter(run_id=given.run_id).select_related("conversation").first()
        if same is not None:
            check_readable(same, member)
            return OpenedRun(key_of(same, owner))
    state = read_opening_state(member, assistant_slug, thread_id)
    if state is None:
        raise Refused("thread_not_found", _("This assistant is not available."))
    if given.test is not None:
        choose_version(state=state, version_id=given.test.version)
    # Marks of untrusted text from an earlier request also apply in this one; only the server knows them.
    messages = with_known_marks(tenant_id=member.tenant_id, user_id=member.user_id, messages=given.messages)
    conversation = Conversation.objects.create(
        pk=thread_id,
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        assistant=state.assistant,
        title=" ".join(messages[-1].content[: 4 * TITLE_LENGTH].split())[:TITLE_LENGTH],
        is_stateless=True,
        test_tools="" if given.test is None else given.test.tools,
    )
    messages = tuple(
        _with_files(TextMessage(one.id, one.content, given.files[one.id]), conversation)
        if one.id in given.files
        else one
        for one in messages
    )
    new = messages[-given.new :]
    run, setup = begin_run(
        member=member,
        state=state,
        conversation=conversation,
        name=RunName(given.run_id),
        owner=owner,
        must_wait=must_wait,
        history=messages,
        new=new,
        # Questions of a replay do not count as messages: they come all at once, and not from people.
        messages=1 if new[-1].role == "user" and given.test is None else 0,
        is_test=given.test is not None,
        follows=given.follows,
    )
    if given.on_begun is not None:
        given.on_begun(run)
    check_files(messages, tenant=state.assistant.tenant)
    question = [one for one in messages if one.id == given.question]
    key = key_of(run, owner)
    check_model_reads(question, tenant=state.assistant.tenant, provider=setup.provider)
    setup = replace(
        setup,
        extensions=extensions_of(
            key=key,
            assistant=state.assistant,
            setup=setup,
            client_tools=given.client_tools,
            asked=given.asked,
            test=given.test,
        ),
    )
    return OpenedRun(key, setup)


def _with_files(message: TextMessage, conversation: Conversation) -> Message:
    return message.stored(claimed_files(message, conversation))
