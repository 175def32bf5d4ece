"""A seeded deployment in which each of the eight signatures is planted, among many runs in which nothing is wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from assistant.models import Assistant, Conversation, Feedback, Message, Run, ToolCall
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run

# Runs in which nothing is wrong, and cases of each planted fault.
QUIET_RUNS = 600
CASES = 8
FOUND = json.dumps({"results": [{"number": "1.1"}]}, separators=(",", ":"))
NOTHING = json.dumps({"results": []}, separators=(",", ":"))
SUBJECTS = ("order", "invoice", "delivery", "tent", "warranty", "shop", "voucher", "repair", "size", "colour")
FORMS = (
    "Where is my {}?",
    "How much is a {}?",
    "Can you change the {}?",
    "Who is responsible for the {}?",
    "When does the {} arrive?",
    "Please cancel this {}.",
    "Is a {} in stock?",
)
MISHAP_TOOLS = tuple(f"tool_{number}" for number in range(8))
# What is asked in other words, and nothing tells.
DOGS = (
    "May I bring my dog into the shop?",
    "Can I bring a dog to your shop?",
    "Is my dog allowed in the shop?",
    "Are dogs allowed in your shop?",
    "Do you allow dogs in the shop?",
    "Is it allowed to bring a dog?",
    "Dogs in the shop: allowed?",
    "Bring my dog along to the shop?",
)
PARKING = (
    "Is there parking near the warehouse?",
    "Where is parking at the warehouse?",
    "Warehouse parking, is it free?",
    "How do I find parking near the warehouse?",
    "Parking at the warehouse?",
    "Does the warehouse have parking?",
    "Can I use the parking of the warehouse?",
    "Which parking is nearest to the warehouse?",
)
TAXES = (
    "Can you help me with my tax return?",
    "Help me with a tax return",
    "I need help for my tax return",
    "Would you do my tax return?",
    "Fill in my tax return",
    "My tax return, please help",
    "Check my tax return",
    "Tax return: what to write?",
)


@dataclass(frozen=True)
class Family:
    """A planted fault: how the desk would name it, and what makes a run of it."""

    name: str
    signature: str
    subject: str
    make: Callable[[Maker, int], None]


class Maker:
    """Makes the conversations of one deployment, from one seed.

    Attributes:
        mishaps: the part of the quiet runs in which something goes wrong by chance.
    """

    def __init__(
        self, cast: Cast, *, seed: int, now: datetime, assistant: Assistant | None = None, mishaps: float = 0
    ) -> None:
        self.mishaps = mishaps
        self.chance = random.Random(seed)
        self.cast = cast
        self.now = now
        self.assistant = assistant or cast.support

    def run(
        self,
        question: str,
        *calls: tuple[str, str, dict[str, Any]],
        answer: str = "Here is what I found.",
        seconds: float = 3,
        days_ago: float | None = None,
        **fields: Any,
    ) -> Run:
        """Store a conversation of one run; calls are a name, a status and further fields."""
        at = self.now - timedelta(days=self.chance.uniform(0.1, 20) if days_ago is None else days_ago)
        conversation: Conversation = make_conversation(self.cast.alice, self.assistant, title=question[:80])
        run = make_run(conversation, **{"ended_at": at + timedelta(seconds=seconds), "first_token_ms": 700, **fields})
        Run.objects.filter(pk=run.pk).update(started_at=at)
        make_message(conversation, "user", question, run=run)
        for number, (name, status, more) in enumerate(calls):
            values = {"arguments": json.dumps({"id": number}), "result": "{}", "duration_ms": 300, **more}
            ToolCall.objects.create(
                tenant=run.tenant, run=run, call_id=f"c{number}", name=name, status=status, **values
            )
        make_message(conversation, "assistant", answer, run=run)
        return run

    def rate(self, run: Run, comment: str, rating: int = -1) -> None:
        answer = Message.objects.get(run=run, role="assistant")
        Feedback.objects.create(tenant=run.tenant, user=run.user, message=answer, rating=rating, comment=comment)

    def quiet(self) -> None:
        """Make a run in which nothing is wrong, or something once in a while."""
        question = self.chance.choice(FORMS).format(self.chance.choice(SUBJECTS))
        calls: list[tuple[str, str, dict[str, Any]]] = []
        if self.chance.random() < 0.5:
            calls.append(("search_docs", "ok", {"result": FOUND}))
        if self.chance.random() < 0.4:
            calls.append(("get_order", "ok", {}))
        chance = self.chance.random()
        if chance < self.mishaps:
            self._mishap(question)
            return
        run = self.run(question, *calls, seconds=self.chance.lognormvariate(1.2, 0.5))
        if self.chance.random() < 0.1:
            self.rate(run, "", 1)

    def _mishap(self, question: str) -> None:
        """Make a run in which something goes wrong by chance: another tool, another question, another reason."""
        tool = self.chance.choice(MISHAP_TOOLS)
        match self.chance.randrange(5):
            case 0:
                self.run(question, (tool, "error", {"error": "It did not answer."}))
            case 1:
                self.run(question, ("search_docs", "ok", {"result": NOTHING}))
            case 2:
                self.run(question, answer="I'm sorry, but I can't tell.")
            case 3:
                self.rate(self.run(question, days_ago=1), self.chance.choice(("", "no", "Hm.", "I expected more")))
            case 4:
                self.run(question, seconds=self.chance.uniform(15, 40))

    def noise(self) -> None:
        """Make what goes wrong once, and is no group."""
        self.run("Show my basket", ("get_basket", "error", {"error": "The shop is closed."}))
        self.run("Which moon is it?", ("search_docs", "ok", {"result": NOTHING}))
        self.run("Sing for me", answer="I'm sorry, but I can't sing.")
        self.rate(self.run("How high is the tower?"), "")


def _question(maker: Maker, questions: Sequence[str], number: int) -> str:
    return questions[number % len(questions)]


def _asked(maker: Maker) -> str:
    return maker.chance.choice(FORMS).format(maker.chance.choice(SUBJECTS))


def _tool_error(maker: Maker, number: int) -> None:
    maker.run(_asked(maker), ("get_invoice", "error", {"error": f"Connection to billing failed ({number})."}))


def _misread(maker: Maker, number: int) -> None:
    error = "Invalid arguments. 'since' must be a date such as 2026-01-31."
    maker.run(_asked(maker), ("find_orders", "error", {"error": error}), ("find_orders", "ok", {"arguments": "{}"}))


def _refused_call(maker: Maker, number: int) -> None:
    maker.run(_asked(maker), ("refund", "refused", {"rule": "tenant: off"}))


def _declined(maker: Maker, number: int) -> None:
    maker.run(_question(maker, TAXES, number), answer="I'm sorry, but I can't help with that.")


def _dogs(maker: Maker, number: int) -> None:
    maker.run(_question(maker, DOGS, number), ("search_docs", "ok", {"result": NOTHING}))


def _parking(maker: Maker, number: int) -> None:
    maker.run(_question(maker, PARKING, number), ("search_docs", "ok", {"result": NOTHING}))


def _style(maker: Maker, number: int) -> None:
    comments = ("Too long.", "far too long", "way too much text, too long", "verbose")
    maker.rate(maker.run(_asked(maker), days_ago=2), comments[number % len(comments)])


def _loop(maker: Maker, number: int) -> None:
    same = {"arguments": '{"city": "Graz"}'}
    maker.run(_asked(maker), *[("get_stock", "ok", same)] * 4)


def _cut(maker: Maker, number: int) -> None:
    run = maker.run(_asked(maker), answer="The whole list is: one, two,")
    Message.objects.filter(run=run, role="assistant").update(is_partial=True, cut_reason="length")


def _slow_tool(maker: Maker, number: int) -> None:
    maker.run(_asked(maker), ("export_list", "ok", {"duration_ms": 40_000}), seconds=48, days_ago=1 + number / 4)


FAMILIES = (
    Family("a tool that fails", "tool_error", "get_invoice", _tool_error),
    Family("arguments that do not fit", "misread", "find_orders", _misread),
    Family("calls that a switch refuses", "refusal", "refund", _refused_call),
    Family("questions that are declined", "refusal", "", _declined),
    Family("dogs, which no document names", "knowledge", "", _dogs),
    Family("parking, which no document names", "knowledge", "", _parking),
    Family("answers that are too long", "style", "long", _style),
    Family("the same call again and again", "loop", "get_stock", _loop),
    Family("answers at their limit", "cut", "length", _cut),
    Family("a slow tool", "latency", "export_list", _slow_tool),
)


def plant(maker: Maker, *, families: Sequence[Family] = FAMILIES, quiet: int = QUIET_RUNS, cases: int = CASES) -> None:
    """Make the deployment: quiet runs, single mishaps, and the cases of each family."""
    for _ in range(quiet):
        maker.quiet()
    maker.noise()
    for family in families:
        for number in range(cases):
            family.make(maker, number)
