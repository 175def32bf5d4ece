"""Which path of the conversation a run follows: the one that is shown, or another, of which it begins a branch."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.core.conversation.paths import WHOLE, Path, Tree
from assistant.core.values.messages import Message
from assistant.models import Approval, Assistant, Conversation
from assistant.models import Message as MessageRow
from assistant.services.conversations.paths import (
    MAX_BRANCHES,
    end_of_run,
    position_of,
    shown_path,
    store_tree,
    tree_of,
)
from assistant.services.conversations.stored_messages import open_calls, recent_messages
from assistant.services.errors import Refused
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.toolcalls.later_results import later_results

NO_RUN = "followsRunId names no run of this conversation."
NO_MESSAGE = "replacesMessageId names no question of this conversation."
TOO_MANY = gettext_noop("This conversation has %(count)d branches, and no more are possible. Begin another one.")


@dataclass(frozen=True, slots=True)
class Followed:
    """What a run follows.

    Attributes:
        path: the messages before the run's own.
        history: the newest of them, oldest first.
        branching: the conversation's tree with the run's branch; None if the run goes on with its newest messages.
    """

    path: Path
    history: list[Message]
    branching: Tree | None = None


def followed_path(given: RunInput, conversation: Conversation, *, has_message: bool) -> Followed:
    """Return what a run follows; for a run that goes on with what is shown only the history is read.

    Args:
        has_message: whether the input's message is stored already. It is answered again then.

    Raises:
        Refused: `invalid_input`, if the input names a run or message that is not of the conversation;
            `limit_reached`, if there are too many branches.
    """
    shown = shown_path(conversation)
    after = _named_place(given, conversation, has_message=has_message)
    history = recent_messages(conversation=conversation, path=shown) if after is None else []
    if after is None and given.resume:
        after = _place_of_answers(given, conversation, history)
    if after is None and given.history.before:
        after = _cut_place(given.history.before, conversation, history)
    if after is None and shown is WHOLE:
        return Followed(shown, history)
    return _path_after(after, shown, history, conversation)


def cut_path(before: Sequence[tuple[str, str]], conversation: Conversation, history: list[Message]) -> Followed:
    """Return what a run follows in a conversation without branches, whose end is not that of the client's history.

    Args:
        before: ids and roles of the client's messages before the new one, newest first.
        history: the newest messages of the conversation, oldest first.

    Raises:
        Refused: as `followed_path` does.
    """
    after = _cut_place(before, conversation, history)
    return Followed(WHOLE, history) if after is None else _path_after(after, WHOLE, history, conversation)


def _path_after(after: int | None, shown: Path, history: list[Message], conversation: Conversation) -> Followed:
    tree = tree_of(conversation)
    path = shown if after is None or after == (tree.end if shown.stop is None else shown.stop) else tree.until(after)
    if after is not None:
        history = recent_messages(conversation=conversation, path=path)
    if path.stop is None:
        return Followed(path, history)
    if len(tree.branches) >= MAX_BRANCHES:
        raise Refused("limit_reached", _(TOO_MANY) % {"count": MAX_BRANCHES})
    return Followed(path, history, tree.branching(path.stop))


def as_version(given: RunInput, conversation: Conversation, *, has_message: bool) -> tuple[RunInput, bool]:
    """Return an input, changed if it adds a version of a stored message, and whether its message is stored already.

    A message that is stored with another text becomes a new version of that one, under an id of the server's. For a
    history that ends with a tool's result and adds nothing, the last question is answered again.
    """
    if given.message is not None and has_message:
        rows = MessageRow.objects.filter(
            conversation=conversation, conversation__tenant_id=conversation.tenant_id, message_id=given.message.id
        )
        stored = rows.filter(role=MessageRow.Role.USER).values_list("content", flat=True).first()
        if stored is not None and stored != given.message.text:
            version = replace(given.message, id=uuid.uuid4().hex)
            options = replace(given.options, replaces=given.message.id)
            return replace(given, message=version, options=options), False
    elif given.history.asked_last and given.tool_answers and not given.resume:
        pending = open_calls(recent_messages(conversation=conversation))
        is_new = any(answer.tool_call_id in pending for answer in given.tool_answers)
        question = TextMessage(given.history.asked_last, "")
        position = position_of(conversation=conversation, message_id=question.id, role=MessageRow.Role.USER)
        if not is_new and position is not None:
            return replace(given, message=question, tool_answers=()), True
    return given, has_message


def begin_branch(*, conversation: Conversation, branching: Tree, is_answer: bool) -> None:
    """Store that the conversation's next message begins a branch, which is shown from now on.

    Args:
        branching: from `Followed`.
        is_answer: the run continues the one that asked for approval, or that waited. Otherwise approvals and results
            that the conversation waits for are no longer accepted, because it has continued without them.
    """
    store_tree(conversation_id=conversation.pk, tenant_id=conversation.tenant_id, tree=branching)
    if not is_answer:
        waiting = Approval.objects.filter(tenant_id=conversation.tenant_id, run__conversation=conversation)
        waiting.update(status=Approval.Status.EXPIRED)
        later_results().give_up(conversation)


def _named_place(given: RunInput, conversation: Conversation, *, has_message: bool) -> int | None:
    """Return the place that the input says the run follows; None if it says nothing."""
    answers = bool(given.resume or given.tool_answers)
    if given.message is not None and has_message and not answers:
        position = position_of(conversation=conversation, message_id=given.message.id, role=MessageRow.Role.USER)
        return None if position is None else position + 1
    if given.options.replaces:
        position = position_of(conversation=conversation, message_id=given.options.replaces, role=MessageRow.Role.USER)
        if position is None:
            raise Refused("invalid_input", NO_MESSAGE)
        return position
    if given.options.follows == "":
        return 0
    if given.options.follows is not None or given.history.parent:
        place = end_of_run(conversation=conversation, run_id=given.options.follows or given.history.parent)
        if place is None and given.options.follows:
            raise Refused("invalid_input", NO_RUN)
        return place
    return None


def _place_of_answers(given: RunInput, conversation: Conversation, history: Sequence[Message]) -> int | None:
    """Return the end of the run whose approvals are answered, if that is not shown."""
    pending = open_calls(history)
    elsewhere = [answer.interrupt_id for answer in given.resume if answer.interrupt_id not in pending]
    if not elsewhere:
        return None
    waiting = Approval.objects.filter(
        tenant_id=conversation.tenant_id, run__conversation=conversation, call_id__in=elsewhere
    )
    run_id = waiting.values_list("run__run_id", flat=True).first()
    place = None if run_id is None else end_of_run(conversation=conversation, run_id=run_id)
    # A run that is on the shown path needs no branch: what follows it was said without its answer.
    return None if place is None or shown_path(conversation).has(place - 1) else place


def _cut_place(before: Sequence[tuple[str, str]], conversation: Conversation, history: Sequence[Message]) -> int | None:
    """Return the place at which the client has cut its history; None if it has not.

    It has if the last message that both know is followed by others. If it is a question, its answer belongs to it: many
    clients give answers ids of their own, or keep none. Then the history is cut if another question follows that
    answer.

    Args:
        before: ids and roles of the client's messages before the new one, newest first.
        history: the newest messages of the path, oldest first.
    """
    if not history or before[0][0] == history[-1].id:
        return None
    places = {message.id: place for place, message in enumerate(history)}
    last = next((index for index, (message_id, _) in enumerate(before) if message_id in places), None)
    if last is None:
        return None
    later = history[places[before[last][0]] + 1 :]
    if last == 0 and before[0][1] != "user":
        position = position_of(conversation=conversation, message_id=before[0][0]) if later else None
        return None if position is None else position + 1
    asked = next((message.id for message in later if message.role == "user"), None)
    return None if asked is None else position_of(conversation=conversation, message_id=asked)


def model_that_goes_on(assistant: Assistant, conversation: Conversation, history: Sequence[Message]) -> str:
    """Return which of an assistant's other models wrote the message that is continued; "" if none of them did."""
    if not assistant.other_models or not history:
        return ""
    last = MessageRow.objects.filter(
        conversation=conversation, conversation__tenant_id=conversation.tenant_id, message_id=history[-1].id
    )
    model = last.values_list("run__model", flat=True).first() or ""
    return model if model in assistant.other_models else ""
