"""Chooses stored questions for an evaluation, with what came before them and the recorded results of their tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db.models import Exists, OuterRef, Q, QuerySet

from assistant.contrib.evaluations.models import EvaluationCase
from assistant.contrib.evaluations.models.evaluations import MAX_QUESTION, MAX_QUESTIONS
from assistant.models import Assistant, Conversation, Feedback, Message, Run, ToolCall
from assistant.services.conversations.paths import on_path, tree_of

Kind = Literal["newest", "down", "failed", "runs"]
# Of what came before a question: messages, and characters of each.
MAX_BEFORE, MAX_MESSAGE = 12, 8_000
# Of a question: recorded calls, and characters of each result and of its arguments.
MAX_RECORDED, MAX_RESULT, MAX_ARGUMENTS = 40, 20_000, 20_000
_FAILED = (Run.Status.FAILED, Run.Status.INTERRUPTED)
_SPOKEN = (Message.Role.USER, Message.Role.ASSISTANT)
# Statuses of calls whose result the model has read.
_ANSWERED = (ToolCall.Status.OK, ToolCall.Status.ERROR, ToolCall.Status.UNKNOWN, ToolCall.Status.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to replay.

    Attributes:
        history: the messages before it, each with `role` and `content`.
        recorded: each with `name`, `arguments`, `result` and `sources`.
        conversation: where it was asked; None if it was typed in.
        reference: a right answer in a person's words; "" for none.
    """

    text: str
    history: Sequence[Mapping[str, str]] = ()
    recorded: Sequence[Mapping[str, Any]] = ()
    conversation: Conversation | None = None
    expected_tool: str = ""
    expected_text: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A stored question with its run's tool calls."""

    message: Message
    calls: list[ToolCall] = field(default_factory=list)


def stored_questions(
    *, assistant: Assistant, kind: Kind, limit: int, readable: Q, runs_of: Collection[int] = ()
) -> list[Question]:
    """Return the newest questions that members asked an assistant in the chat.

    Args:
        kind: "down" for those whose answer was rated as not helpful, "failed" for those that got none, "runs" for those
            of the runs `runs_of`.
        limit: at most `MAX_QUESTIONS` are returned.
        readable: which runs' conversations the caller may read, a condition on `Run`.
    """
    runs = _runs(assistant).filter(readable)
    if kind == "failed":
        runs = runs.filter(status__in=_FAILED)
    elif kind == "runs":
        runs = runs.filter(pk__in=runs_of)
    elif kind == "down":
        rated = Feedback.objects.filter(
            tenant=assistant.tenant_id, message__run=OuterRef("pk"), rating=Feedback.Rating.DOWN
        )
        runs = runs.filter(Exists(rated))
    return _questions(list(runs.order_by("-started_at")[: min(limit, MAX_QUESTIONS)]))


def question_of_run(*, run: Run) -> Question | None:
    """Return the question of a run that the caller may read; None if it has none, such as one that was approved."""
    found = _questions(list(_runs(run.assistant).filter(pk=run.pk)))
    return found[0] if found else None


def questions_of(*, cases: Iterable[EvaluationCase]) -> list[Question]:
    """Return the questions of another evaluation; the caller leaves out those that may not be read."""
    return [
        Question(
            case.question,
            case.history,
            case.recorded,
            case.conversation,
            case.expected_tool,
            case.expected_text,
            case.reference,
        )
        for case in cases
    ]


def typed_questions(text: str) -> list[Question]:
    """Return the lines of a text as questions, without empty ones."""
    lines = (line.strip()[:MAX_QUESTION] for line in text.splitlines())
    return [Question(line) for line in lines if line]


def _runs(assistant: Assistant) -> QuerySet[Run]:
    """Return the runs of an assistant that began with a question, without tests and callers with their own history."""
    asked = Message.objects.filter(run=OuterRef("pk"), role=Message.Role.USER, conversation__tenant=assistant.tenant_id)
    return Run.objects.filter(
        Exists(asked),
        tenant=assistant.tenant_id,
        assistant=assistant,
        is_test=False,
        conversation__is_stateless=False,
        conversation__is_temporary=False,
    ).select_related("conversation__tenant", "conversation__user")


def _questions(runs: Sequence[Run]) -> list[Question]:
    calls = _calls(runs)
    messages = Message.objects.filter(
        run__in=[run.pk for run in runs],
        role=Message.Role.USER,
        conversation__tenant__in={run.tenant_id for run in runs},
    )
    asked = {message.run_id: message for message in messages.order_by("-position")}
    return [_question(run, _Asked(asked[run.pk], calls[run.pk])) for run in runs if run.pk in asked]


def _calls(runs: Sequence[Run]) -> Mapping[int, list[ToolCall]]:
    """Return the answered tool calls of runs, with those of the runs that went on after an approval."""
    found: dict[int, list[ToolCall]] = defaultdict(list)
    of_same = Run.objects.filter(
        conversation__in=[run.conversation_id for run in runs], tenant__in={run.tenant_id for run in runs}
    )
    begins = Message.objects.filter(run=OuterRef("pk"), role=Message.Role.USER, conversation__tenant=OuterRef("tenant"))
    following: dict[Any, list[tuple[int, int, bool]]] = defaultdict(list)
    numbers = of_same.annotate(is_asked=Exists(begins)).order_by("number")
    for conversation, number, pk, is_asked in numbers.values_list("conversation_id", "number", "pk", "is_asked"):
        following[conversation].append((number, pk, is_asked))
    owner: dict[int, int] = {}
    for run in runs:
        for number, pk, is_asked in following[run.conversation_id]:
            if number > run.number and is_asked:
                break
            if number >= run.number:
                owner[pk] = run.pk
    rows = ToolCall.objects.filter(
        run__in=list(owner), tenant__in={run.tenant_id for run in runs}, status__in=_ANSWERED
    )
    for call in rows.order_by("pk"):
        found[owner[call.run_id or 0]].append(call)
    return found


def _question(run: Run, asked: _Asked) -> Question:
    return Question(
        text=asked.message.content[:MAX_QUESTION],
        history=_before(run.conversation, asked.message.position),
        recorded=[
            {
                "name": call.name,
                "arguments": call.arguments,
                "result": (call.told or call.result)[:MAX_RESULT],
                "sources": list(call.sources),
            }
            for call in asked.calls[:MAX_RECORDED]
            if len(call.arguments) <= MAX_ARGUMENTS
        ],
        conversation=run.conversation,
    )


def _before(conversation: Conversation, position: int) -> list[dict[str, str]]:
    """Return what was said before a question, on its own path of the conversation."""
    tree = tree_of(conversation)
    first = tree.branches.get(position, position)
    path = tree.until(first)
    rows = Message.objects.filter(
        on_path(path),
        conversation=conversation,
        conversation__tenant=conversation.tenant_id,
        position__lt=position,
        role__in=_SPOKEN,
        is_superseded=False,
    ).exclude(content="")
    newest = rows.order_by("-position").values_list("role", "content")[:MAX_BEFORE]
    return [{"role": role, "content": content[:MAX_MESSAGE]} for role, content in reversed(newest)]
