"""A password is reset by a link in an e-mail, where e-mail is configured; the pages tell nobody who has an account."""

from __future__ import annotations

import re
from functools import partial
from threading import Barrier, Event

import pytest
from django.core import mail
from django.test import Client
from pytest_django.fixtures import Settings

from assistant.contrib.password_reset.sending import send_soon
from assistant.models import PersonSettings
from assistant.services.tenancy import mail as mails
from tests.base import PASSWORD, Cast

pytestmark = pytest.mark.django_db
PAGE = "/accounts/password/"
NEW = "Entirely-other-77"


@pytest.fixture
def sending(settings: Settings) -> Settings:
    """Settings of a deployment that sends e-mail."""
    settings.EMAIL_HOST = "mail.example.com"
    return settings


def ask(client: Client, email: str) -> None:
    answer = client.post(PAGE, {"email": email})
    wait_for_mail()
    assert (answer.status_code, answer.headers["Location"]) == (302, "/accounts/password/sent/")


def wait_for_mail() -> None:
    """Wait until the threads that send have nothing left to send."""
    # Both threads and this one meet when all that came before is sent.
    meeting = Barrier(3)
    for _ in range(2):
        send_soon(partial(meeting.wait, 20))
    meeting.wait(20)


def with_email(cast: Cast) -> None:
    cast.alice.email = "alice@example.com"
    cast.alice.save()


def test_a_link_sets_a_new_password_once(client: Client, cast: Cast, sending: Settings) -> None:
    with_email(cast)
    ask(client, "alice@example.com")
    assert mail.outbox[0].to == ["alice@example.com"]
    (address,) = re.findall(r"http://testserver(\S+)", str(mail.outbox[0].body))
    assert address.split("?")[0] == "/accounts/password/link/"
    page = client.get(address).headers["Location"]
    assert page.endswith("/set-password/")
    form = {"new_password1": NEW, "new_password2": NEW}
    assert client.post(page, form).headers["Location"] == "/accounts/login/"
    assert b"Your password was changed." in client.get("/accounts/login/").content
    assert Client().login(username="alice", password=NEW)
    again = Client()
    assert b"This link does not work" in again.get(again.get(address).headers["Location"]).content
    again.post(again.get(address).headers["Location"], {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert Client().login(username="alice", password=NEW)


def test_the_answer_is_the_same_without_an_account(client: Client, cast: Cast, sending: Settings) -> None:
    ask(client, "nobody@example.com")
    assert mail.outbox == []


def test_nobodys_mailbox_is_filled(client: Client, cast: Cast, sending: Settings) -> None:
    with_email(cast)
    answers = [client.post(PAGE, {"email": "alice@example.com"}).status_code for _ in range(7)]
    assert answers[-1] == 429
    wait_for_mail()
    assert len(mail.outbox) == answers.count(302) == 5


@pytest.mark.parametrize("page", [PAGE, f"{PAGE}link/?uid=MQ&token=x", f"{PAGE}new/MQ/set-password/"])
def test_there_is_no_reset_without_e_mail(client: Client, cast: Cast, page: str) -> None:
    assert client.get(page).status_code == 404


def test_the_sign_in_page_offers_it_where_it_works(client: Client, cast: Cast, settings: Settings) -> None:
    assert b"Forgot your password?" not in client.get("/accounts/login/").content
    settings.EMAIL_HOST = "mail.example.com"
    assert b"Forgot your password?" in client.get("/accounts/login/").content


def test_a_wrong_link_says_so(client: Client, cast: Cast, sending: Settings) -> None:
    answer = client.get(client.get(f"{PAGE}link/?uid=zzz&token=x").headers["Location"])
    assert b"This link does not work" in answer.content


def test_the_answer_does_not_wait_for_the_message(client: Client, cast: Cast, sending: Settings) -> None:
    with_email(cast)
    held, free = Barrier(3), Event()
    for _ in range(2):
        send_soon(lambda: (held.wait(20), free.wait(20)))
    held.wait(20)
    # No thread is free, and both are answered.
    for email in ("alice@example.com", "nobody@example.com"):
        assert client.post(PAGE, {"email": email}).status_code == 302
    assert mail.outbox == []
    free.set()
    wait_for_mail()
    assert [message.to for message in mail.outbox] == [["alice@example.com"]]


def test_the_message_is_in_the_language_of_the_account(client: Client, cast: Cast, sending: Settings) -> None:
    with_email(cast)
    PersonSettings.objects.create(user=cast.alice, language="de")
    ask(client, "alice@example.com")
    assert mail.outbox[0].subject == "Ein neues Passwort"
    assert "Wählen Sie es hier" in str(mail.outbox[0].body)


def test_an_e_mail_is_in_the_language_of_its_reader(cast: Cast, settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.example.com"
    cast.alice.email = "alice@example.com"
    cast.alice.save()
    PersonSettings.objects.create(user=cast.alice, language="de")
    for address in ("Alice@example.com", "nobody@example.com"):
        mails.send(to=address, template="password_reset")
    assert [message.subject for message in mail.outbox] == [
        "Ein neues Passwort",
        "A new password",
    ]
