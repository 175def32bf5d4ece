"""`manage.py assistant_chat`: a conversation in the terminal is stored like any other."""

from __future__ import annotations

import os
import subprocess

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from assistant.contrib.end_users.services.tokens import save_end_user
from assistant.models import Conversation, Membership, Provider, ToolCall
from tests.base import Cast, make_cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import test_database_url as database_url
from tests.python_template import forked_python

# The commands are tried on the database of the demo, SQLite.
pytestmark = pytest.mark.once


def talk(said: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Type `said`, and read what the terminal shows."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_DATABASE_URL": database_url()}
    return subprocess.run(
        [str(forked_python()), "manage.py", "assistant_chat", *arguments],
        cwd=settings.BASE_DIR,
        env=environment,
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def committed(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def house(committed: Cast, fake_provider: FakeProvider) -> Provider:
    row = Provider.objects.create(name="fake", base_url=fake_provider.url, api_key="sk-test", default_model="m")
    committed.acme.default_provider = row
    committed.acme.save()
    return row


def test_an_answer_is_printed_and_kept(committed: Cast, house: Provider, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Half past nine.")
    shown = talk("What time is it?\n", "acme", "support", "--user", "alice")
    assert "Half past nine." in shown.stdout, shown.stderr
    conversation = Conversation.objects.get()
    assert (conversation.user, conversation.messages.count()) == (committed.alice, 2)


@pytest.mark.parametrize(("arguments", "is_logged"), [((), False), (("--verbosity", "2"), True)])
def test_the_log_is_shown_only_if_asked_for(
    committed: Cast, house: Provider, fake_provider: FakeProvider, arguments: tuple[str, ...], is_logged: bool
) -> None:
    fake_provider.reply("Half past nine.")
    shown = talk("What time is it?\n", "acme", *arguments)
    assert ("Run ended" in shown.stderr) is is_logged, shown.stderr


def test_turns_belong_to_one_conversation(committed: Cast, house: Provider, fake_provider: FakeProvider) -> None:
    fake_provider.reply("First.")
    fake_provider.reply("Second.")
    shown = talk("One?\nTwo?\n", "acme")
    assert shown.stdout.index("First.") < shown.stdout.index("Second.")
    assert Conversation.objects.get().messages.count() == 4


@pytest.mark.parametrize(("answer", "status"), [("y", "ok"), ("", "declined")])
def test_a_tool_that_asks_is_approved_in_the_terminal(
    committed: Cast, house: Provider, fake_provider: FakeProvider, answer: str, status: str
) -> None:
    switch_tool(committed.acme, "current_time", "ask")
    fake_provider.call("current_time", {})
    fake_provider.reply("So be it.")
    shown = talk(f"What time is it?\n{answer}\n", "acme", "support", "--user", "alice")
    assert "So be it." in shown.stdout, shown.stderr
    assert ToolCall.objects.get().status == status


@pytest.mark.parametrize(("answer", "status"), [("tomorrow\n2027-02-03\n", "ok"), ("", "declined")])
def test_a_question_is_answered_in_the_terminal(
    committed: Cast, house: Provider, fake_provider: FakeProvider, answer: str, status: str
) -> None:
    switch_tool(committed.acme, "ask_user")
    fields = [{"name": "day", "label": "Day", "kind": "date"}]
    fake_provider.call("ask_user", {"question": "Which day?", "fields": fields})
    fake_provider.reply("Booked.")
    shown = talk(f"A table, please\n{answer}", "acme", "support", "--user", "alice")
    assert "Which day?" in shown.stdout, shown.stderr
    assert "Booked." in shown.stdout
    assert ToolCall.objects.get().status == status
    if answer:
        assert '= {"day": "2027-02-03"}' in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["nowhere"], "nowhere"), (["acme", "nothing"], "nothing"), (["acme", "--user", "mallory"], "mallory")],
)
def test_an_error_names_what_does_not_exist(cast: Cast, arguments: list[str], named: str) -> None:
    with pytest.raises(CommandError, match=named):
        call_command("assistant_chat", *arguments)


def test_the_default_member_is_never_an_end_user(cast: Cast) -> None:
    Membership.objects.filter(tenant=cast.acme).delete()
    save_end_user(tenant_id=cast.acme.pk, external_id="shop-77", name="Chris", context={})
    with pytest.raises(CommandError, match="It has no members"):
        call_command("assistant_chat", "acme")
