"""Runs that follow another part of a conversation than its end: changed questions, other answers, and going on."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from assistant.core.values.messages import Message, ToolCall
from assistant.models import Conversation, Run
from assistant.models import Message as MessageRow
from assistant.models import ToolCall as CallRow
from assistant.services.conversations.paths import MAX_BRANCHES
from assistant.services.conversations.stored_messages import recent_messages
from assistant.services.errors import Refused
from assistant.services.runs.closing import Ending, close_run
from assistant.services.runs.input.forwarded_props import ForwardedProps
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.runs.opening.new_input import GO_ON
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.run_input import ClientHistory, RunInput, TextMessage
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast

FINISHED = Ending("finished", {"type": "RUN_FINISHED"})


class Talk:
    """A conversation of a member, whose answers are given as texts; the runs' ids are r1, r2 and so on."""

    def __init__(self, member: Member) -> None:
        self.member, self.thread, self._runs = member, uuid.uuid4(), 0

    def ask(self, question: str, answer: str | Message | None = "", **given: Any) -> RunSetup:
        """Ask a question, whose id is its text, and answer it; an empty one asks nothing new, None is no answer."""
        self._runs += 1
        message = TextMessage(question, question) if question else None
        opened = open_run(
            member=self.member,
            assistant_slug="support",
            given=RunInput(thread_id=self.thread, run_id=f"r{self._runs}", message=message, **given),
            owner="here",
        )
        assert opened.setup is not None
        said = Message("assistant", answer, id=answer) if isinstance(answer, str) else answer
        close_run(
            key=opened.key,
            messages=[] if said is None else [said],
            usage={},
            ending=FINISHED,
            last_seq=1,
            position=opened.setup.position,
        )
        return opened.setup

    @property
    def row(self) -> Conversation:
        return Conversation.objects.get(pk=self.thread)

    @property
    def shown(self) -> list[str]:
        return [message.content for message in recent_messages(conversation=self.row)]


@pytest.fixture
def talk(alice_member: Member) -> Talk:
    """A conversation with two questions."""
    made = Talk(alice_member)
    made.ask("q1", "a1")
    made.ask("q2", "a2")
    return made


def member_of(user: User, tenant: str) -> Member:
    member = find_member(user_id=user.pk, tenant_slug=tenant)
    assert member is not None
    return member


def texts(setup: RunSetup) -> list[str]:
    return [message.content for message in setup.history]


def test_a_question_in_anothers_place_is_asked_without_what_came_after(talk: Talk) -> None:
    assert texts(talk.ask("q2 again", "a2 again", options=ForwardedProps(replaces="q2"))) == ["q1", "a1", "q2 again"]
    assert talk.shown == ["q1", "a1", "q2 again", "a2 again"]
    assert texts(talk.ask("q3", "a3")) == ["q1", "a1", "q2 again", "a2 again", "q3"]


def test_the_first_question_can_be_replaced(talk: Talk) -> None:
    assert texts(talk.ask("other", "x", options=ForwardedProps(replaces="q1"))) == ["other"]
    assert texts(talk.ask("q3", "a3", options=ForwardedProps(follows=""))) == ["q3"]
    assert talk.shown == ["q3", "a3"]


def test_a_run_follows_the_run_that_it_names(talk: Talk) -> None:
    assert texts(talk.ask("q2 again", "x", options=ForwardedProps(follows="r1"))) == ["q1", "a1", "q2 again"]
    assert Run.objects.get(run_id="r3").follows == "r1"
    assert texts(talk.ask("q3", "y", options=ForwardedProps(follows="r2"))) == ["q1", "a1", "q2", "a2", "q3"]


def test_a_parent_run_is_followed_only_if_it_is_one_of_the_thread(talk: Talk) -> None:
    assert texts(talk.ask("q3", "a3", history=ClientHistory(parent="of-another-thread"))) == [
        "q1",
        "a1",
        "q2",
        "a2",
        "q3",
    ]
    assert Run.objects.get(run_id="r3").follows == "of-another-thread"
    assert texts(talk.ask("q4", "a4", history=ClientHistory(parent="r1"))) == ["q1", "a1", "q4"]


def test_the_end_of_the_conversation_is_followed_without_a_branch(talk: Talk) -> None:
    talk.ask("q3", "a3", options=ForwardedProps(follows="r2"), history=ClientHistory(before=(("a2", "assistant"),)))
    assert talk.row.branches == []


def test_an_answered_question_that_comes_again_is_answered_again(talk: Talk) -> None:
    assert texts(talk.ask("q2", "another")) == ["q1", "a1", "q2"]
    assert talk.shown == ["q1", "a1", "q2", "another"]
    assert texts(talk.ask("q1", "other")) == ["q1"]


def test_a_history_that_was_cut_is_followed(talk: Talk) -> None:
    assert texts(talk.ask("q3", "a3", history=ClientHistory(before=(("a1", "assistant"),)))) == ["q1", "a1", "q3"]
    assert texts(talk.ask("q4", "a4", history=ClientHistory(before=(("unknown", "assistant"),)))) == [
        "q1",
        "a1",
        "q3",
        "a3",
        "q4",
    ]


def test_an_answer_that_failed_without_a_word_leaves_the_path_as_it_was(talk: Talk) -> None:
    talk.ask("q2", None)
    assert talk.shown == ["q1", "a1", "q2", "a2"]
    assert texts(talk.ask("q2", "another")) == ["q1", "a1", "q2"]
    assert talk.row.branches == [[4, 3]]


def test_a_question_that_was_not_answered_is_answered_without_a_branch(talk: Talk) -> None:
    talk.ask("q3", None)
    assert texts(talk.ask("q3", "a3")) == ["q1", "a1", "q2", "a2", "q3"]
    assert talk.row.branches == []


def test_an_answer_that_was_cut_goes_on(talk: Talk) -> None:
    talk.ask("q3", Message("assistant", "half", id="half", is_partial=True))
    assert talk.ask("", "whole").history[-2:] == (talk_message("half"), GO_ON)
    assert talk.shown[-3:] == ["q3", "half", "whole"]
    with pytest.raises(Refused, match="nothing new"):
        talk.ask("")


def talk_message(text: str) -> Message:
    return Message("assistant", text, id=text, is_partial=True)


@pytest.mark.parametrize(
    "options", [ForwardedProps(follows="r9"), ForwardedProps(replaces="q9"), ForwardedProps(replaces="a1")]
)
def test_what_is_not_of_the_conversation_is_refused(talk: Talk, options: ForwardedProps) -> None:
    with pytest.raises(Refused, match="of this conversation"):
        talk.ask("q3", options=options)


def test_another_tenants_runs_and_messages_are_unknown(talk: Talk, cast: Cast) -> None:
    other = Talk(member_of(cast.mallory, "globex"))
    other.ask("their question", "their answer")
    for options in (ForwardedProps(follows="r2"), ForwardedProps(replaces="q2")):
        with pytest.raises(Refused, match="of this conversation"):
            other.ask("q3", options=options)
    other.thread = talk.thread
    assert texts(other.ask("q1", "theirs")) == ["q1"]
    own = Conversation.objects.get(user=cast.mallory, thread_key=str(talk.thread))
    assert own.pk != talk.thread and talk.row.branches == []


def test_branches_are_bounded(talk: Talk) -> None:
    pairs = [[start, 1] for start in range(2, 2 + MAX_BRANCHES)]
    Conversation.objects.filter(pk=talk.thread).update(branches=pairs, message_count=2 + MAX_BRANCHES)
    with pytest.raises(Refused, match="branches"):
        talk.ask("q3", options=ForwardedProps(follows=""))


def test_a_run_is_marked_while_marked_text_is_on_its_path(talk: Talk) -> None:
    talk.ask("q3", Message("assistant", "a3", id="a3", sources=("a page",)))
    assert [one.sources for one in talk.ask("q4", "a4").history if one.sources] == [("a page",)]
    assert not any(one.sources for one in talk.ask("q3 again", "x", options=ForwardedProps(replaces="q3")).history)
    assert any(one.sources for one in talk.ask("q5", "y", options=ForwardedProps(follows="r4")).history)


def test_another_answer_is_known_again_if_a_caller_sends_it_back(talk: Talk) -> None:
    for number in (1, 2):
        talk.ask("q3", Message("assistant", "From a page.", id=f"a{number} of q3", sources=("a page",)))
    first, second = MessageRow.objects.filter(content="From a page.").values_list("mark_digest", flat=True)
    assert first and first == second


def test_a_summary_is_given_on_its_own_path_alone(talk: Talk) -> None:
    talk.ask("q3", "a3")
    Conversation.objects.filter(pk=talk.thread).update(
        summary="About q1 and q2.", summary_sources=["a page"], summarised_to=4
    )
    known = talk.ask("q3 again", "x", options=ForwardedProps(replaces="q3"))
    (summary,) = known.summary
    assert "About q1 and q2." in summary.content
    assert (summary.sources, texts(known)) == (("a page",), ["q3 again"])
    other = talk.ask("q2 again", "y", options=ForwardedProps(replaces="q2"))
    assert (other.summary, texts(other)) == ((), ["q1", "a1", "q2 again"])


def waiting(talk: Talk, question: str) -> CallRow:
    """A call that waits for approval, as the answer to a question."""
    talk.ask(question, Message("assistant", "", id=f"call-{question}", tool_calls=(ToolCall(question, "pay", "{}"),)))
    run = Run.objects.latest("pk")
    return CallRow.objects.create(
        tenant_id=run.tenant_id, run=run, call_id=question, name="pay", status=CallRow.Status.AWAITING_APPROVAL
    )


def test_an_approval_on_a_path_that_was_left_by_asking_again_expires(talk: Talk) -> None:
    call = waiting(talk, "q3")
    talk.ask("q3 again", "x", options=ForwardedProps(replaces="q3"))
    call.refresh_from_db()
    assert call.status == CallRow.Status.EXPIRED
    with pytest.raises(Refused, match="expired"):
        talk.ask("", resume=(Resume("q3", approved=True),))


def test_an_approval_that_is_not_shown_is_given_on_its_own_path(talk: Talk) -> None:
    talk.ask("q2 again", "x", options=ForwardedProps(replaces="q2"))
    call = waiting(talk, "q3")
    Conversation.objects.filter(pk=talk.thread).update(choices=[[2, 2]])
    assert talk.shown == ["q1", "a1", "q2", "a2"]
    setup = talk.ask("", "paid", resume=(Resume("q3", approved=False),))
    assert texts(setup) == ["q1", "a1", "q2 again", "x", "q3", ""]
    assert talk.shown[-1] == "paid"
    call.refresh_from_db()
    assert call.status == CallRow.Status.DECLINED
