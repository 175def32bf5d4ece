"""Questions of a host's people, each asked in a run in which a scripted model picks the tool and says what it read."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.models import Assistant, Provider, ToolSetting
from assistant.testing import AssistantTestMixin, ToolCall
from assistant.testing.tools import find_tenant
from tests.host_project.asked_of_a_model import asked_of

_READ = "It says: "


@dataclass(frozen=True)
class Question:
    """What somebody asks.

    Attributes:
        tool: which the model picks.
        expected: what the answer has of the tool's result.
        told: takes that from the result.
        asks_first: whether a person approves the call before it is made.
    """

    text: str
    tool: str
    arguments: Mapping[str, Any]
    expected: Any
    told: Callable[[Any], Any] = field(default=lambda told: told)
    asks_first: bool = False

    def is_answered_by(self, text: str) -> bool:
        """Whether what some tool returned is what is expected; another tool's result may have another form."""
        try:
            return bool(self.told(value_of(text)) == self.expected)
        except (LookupError, TypeError):
            return False


def column(name: str, rows: str = "rows") -> Callable[[Any], Any]:
    """Return what takes the values of a column, sorted, from a result with rows."""
    return lambda told: sorted(row[name] for row in (told if isinstance(told, list) else told[rows]))


def found(questions: Sequence[tuple[str, str, Mapping[str, Any], str, list[Any]]]) -> list[Question]:
    """Return questions for `find_`: text, plural, arguments, the column that is read, and its values, sorted."""
    return [
        Question(text, f"find_{plural}", arguments, expected, column(name))
        for text, plural, arguments, name, expected in questions
    ]


def summed(questions: Sequence[tuple[str, str, Mapping[str, Any], Any]]) -> list[Question]:
    """Return questions for `summarise_`: text, plural, arguments, and the figures, by group if there are any."""
    return [
        Question(text, f"summarise_{plural}", arguments, expected, _figures(arguments))
        for text, plural, arguments, expected in questions
    ]


def _figures(arguments: Mapping[str, Any]) -> Callable[[Any], Any]:
    (key,) = arguments.get("group_by", [""])
    return lambda told: {group[key]: group[arguments["measure"]] for group in told["groups"]} if key else told


class QuestionsMixin(AssistantTestMixin):
    """Asks questions in one conversation of a member; for Django's `TestCase`."""

    def ask_all(self, tenant: Any, user: Any, questions: Sequence[Question]) -> None:
        """Ask each question; the model reads the right rows, and the answer has them.

        Args:
            tenant: a row of the project's own tenant model.
        """
        calls = {question.text: question for question in questions}
        self.assertEqual(len(calls), len(questions))
        if address := os.environ.get("QUESTIONS_ASKED_OF"):
            slug = _assistant_of(tenant, questions)
            for one in questions:
                print(json.dumps(asked_of(address, tenant, user, slug, one.text, one.is_answered_by)), flush=True)
            return
        numbers = itertools.count()

        def turn(request: ModelRequest) -> Any:
            last = request.messages[-1]
            if last.role == "tool":
                return f"{_READ}{last.content}"
            question = calls[last.content]
            offered = {tool.name for tool in request.tools}
            assert question.tool in offered, f"{question.tool} is not among {sorted(offered)}"
            return ToolCall(f"call-{next(numbers)}", question.tool, json.dumps(question.arguments))

        model = self.answer(*[turn] * (2 * len(questions)))
        with self.chat(tenant, user, _assistant_of(tenant, questions)) as chat:
            for question in questions:
                with self.subTest(question.text):
                    answer = chat.ask(question.text)
                    if question.asks_first:
                        self.assertEqual((len(answer.waiting), answer.text), (1, ""))
                        answer = chat.decide(answer, approved=True)
                    self.assertEqual(answer.error, "")
                    read = model.requests[-1].messages[-1]
                    self.assertEqual(read.role, "tool")
                    self.assertEqual(answer.text, f"{_READ}{read.content}")
                    self.assertEqual(question.told(value_of(read.content)), question.expected)


def _assistant_of(row: Any, questions: Sequence[Question]) -> str:
    """Make an assistant for a host's tenant, whose tools are those of the questions; return its slug."""
    tenant = find_tenant(row)
    provider = Provider.objects.create(tenant=tenant, name="scripted", default_model="scripted")
    # A real model on a busy machine takes longer than a run may by default.
    made = Assistant.objects.create(tenant=tenant, slug="answers", name="Answers", provider=provider, max_seconds=0)
    for tool in {question.tool for question in questions}:
        ToolSetting.objects.update_or_create(tenant=tenant, tool=tool, defaults={"policy": "on"})
    return made.slug


def value_of(text: str) -> Any:
    """Return what a tool returned: a value of JSON, or the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
