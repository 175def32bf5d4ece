"""Links to conversations: who makes, reads and revokes them, and what they show."""

from __future__ import annotations

import html
import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assistant.contrib.shares.models import ConversationShare, TenantSharing
from assistant.models import AuditEntry, Conversation, Membership, ToolCall
from assistant.services.privacy.leaving import end_memberships
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.shares.sharing import set_sharing
from tests.factories import make_conversation, make_message, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    """A conversation whose question has two answers, the second of which is shown."""
    set_sharing(cast.acme)
    talk = make_conversation(cast.alice, cast.support, title="Sheep", message_count=3, branches=[[2, 1]], choices=[])
    for position, (role, text) in enumerate(
        (("user", "<b>How?</b>"), ("assistant", "First answer"), ("assistant", "**Second** answer"))
    ):
        make_message(talk, role, text, position=position, message_id=f"m{position}")
    return talk


def page_of(user: User, url: str) -> tuple[int, str]:
    client = Client()
    client.force_login(user)
    answer = client.get(url.removeprefix("http://testserver"))
    return answer.status_code, answer.content.decode()


def share(calls: Caller, talk: Conversation) -> str:
    answer = calls("post", f"conversations/{talk.pk}/shares/")
    assert answer.status_code == 201
    url: str = answer.json()["url"]
    return url


def test_members_read_what_was_shown_and_nothing_later(alice_calls: Caller, cast: Cast, talk: Conversation) -> None:
    url = share(alice_calls, talk)
    make_message(talk, "user", "Something private", position=3, message_id="m3")
    Conversation.objects.filter(pk=talk.pk).update(message_count=4, choices=[[1, 1]], title="Something private")
    status, text = page_of(cast.amy, url)
    assert status == 200 and "<strong>Second</strong> answer" in text and "&lt;b&gt;How?&lt;/b&gt;" in text
    assert "First answer" not in text and "private" not in text and "composer" not in text


@pytest.mark.parametrize(("status", "shown"), [("cancelled", "Stopped."), ("failed", "This answer was cut off.")])
def test_why_an_answer_is_not_whole_is_said(
    status: str, shown: str, alice_calls: Caller, cast: Cast, talk: Conversation
) -> None:
    talk.messages.filter(position=2).update(is_partial=True, run=make_run(talk, status=status))
    _, text = page_of(cast.amy, share(alice_calls, talk))
    assert f'<p class="stopped">{shown}</p>' in text


def test_an_answer_that_was_cut_off_shows_no_open_marks(alice_calls: Caller, cast: Cast, talk: Conversation) -> None:
    run = make_run(talk, status="cancelled")
    talk.messages.filter(position=2).update(is_partial=True, run=run, content="It is **much too la")
    _, text = page_of(cast.amy, share(alice_calls, talk))
    assert "It is <strong>much too la</strong>" in text


@pytest.mark.parametrize(
    ("reason", "shown"), [("length", "reached the model&#x27;s length limit"), ("content_filter", "content filter")]
)
def test_the_reason_of_the_model_is_said(
    reason: str, shown: str, alice_calls: Caller, cast: Cast, talk: Conversation
) -> None:
    talk.messages.filter(position=2).update(is_partial=True, cut_reason=reason)
    _, text = page_of(cast.amy, share(alice_calls, talk))
    assert shown in html.escape(html.unescape(text))


def test_calls_are_named_without_arguments_or_results(alice_calls: Caller, cast: Cast, talk: Conversation) -> None:
    run = make_run(talk)
    call = {"id": "c1", "name": "get_customer", "arguments": '{"customer_id": "SECRET"}'}
    talk.messages.filter(position=2).update(tool_calls=[call], run=run)
    ToolCall.objects.create(tenant=cast.acme, run=run, call_id="c1", name="get_customer", status="ok")
    _, text = page_of(cast.amy, share(alice_calls, talk))
    assert "customer" in text and "SECRET" not in text
    assert '<span class="sr-only">Done</span>' in text


def test_documents_that_an_answer_names_are_shown_and_files_are_not(
    alice_calls: Caller, cast: Cast, talk: Conversation
) -> None:
    document = {"number": "3.1", "source_id": "doc-7.1", "source": "Returns", "text": "Fourteen days."}
    file = {"number": "4", "source_id": "file-9.1", "source": "My salary.pdf", "text": "SECRET"}
    talk.messages.filter(position=2).update(run=make_run(talk, passages=[document, file]), content="Some [3.1] [4].")
    _, text = page_of(cast.amy, share(alice_calls, talk))
    assert "Fourteen days." in text and "This source is not part of what was shared." in text
    assert "SECRET" not in text and "salary" not in text


def test_other_tenants_and_outsiders_get_what_a_link_that_never_was_gets(
    alice_calls: Caller, cast: Cast, talk: Conversation
) -> None:
    url = share(alice_calls, talk)
    never = url.replace(url.rstrip("/").rpartition("/")[2], str(uuid.uuid4()))
    for user in (cast.mallory, cast.oscar):
        for tenant in ("acme", "globex"):
            tried = [page_of(user, one.replace("/t/acme/", f"/t/{tenant}/")) for one in (url, never)]
            assert tried[0] == tried[1] and tried[0][0] == 404
    assert page_of(cast.amy, never)[0] == 404
    assert Client().get(url.removeprefix("http://testserver")).status_code == 302


def test_a_revoked_link_leads_nowhere_and_the_audit_says_so(
    alice_calls: Caller, mallory_calls: Caller, cast: Cast, talk: Conversation
) -> None:
    url = share(alice_calls, talk)
    (entry,) = alice_calls.get(f"conversations/{talk.pk}/shares/").json()
    address = f"conversations/{talk.pk}/shares/{entry['id']}/"
    for others in (mallory_calls, Caller(cast.acme, cast.amy)):
        assert others("delete", address).status_code == 404
        assert others.get(f"conversations/{talk.pk}/shares/").status_code == 404
        assert others("post", f"conversations/{talk.pk}/shares/").status_code == 404
    assert page_of(cast.amy, url)[0] == 200
    assert alice_calls("delete", address).status_code == 204 and alice_calls("delete", address).status_code == 404
    assert page_of(cast.amy, url)[0] == 404
    rows = AuditEntry.objects.filter(tenant=cast.acme, actor=cast.alice).order_by("pk")
    assert list(rows.values_list("action", flat=True)) == ["conversation.share", "conversation.unshare"]
    assert entry["id"] not in str(list(rows.values()))


def test_a_tenant_has_it_off_unless_it_allows_it(alice_calls: Caller, cast: Cast, talk: Conversation) -> None:
    url = share(alice_calls, talk)
    set_sharing(cast.acme, is_allowed=False)
    assert page_of(cast.amy, url)[0] == 404
    answer = alice_calls("post", f"conversations/{talk.pk}/shares/")
    assert answer.status_code == 409 and "cannot be shared" in answer.json()["message"]
    TenantSharing.objects.all().delete()
    assert alice_calls("post", f"conversations/{talk.pk}/shares/").status_code == 409


def test_links_go_with_their_owner_and_with_the_conversation(
    alice_calls: Caller, cast: Cast, talk: Conversation
) -> None:
    url = share(alice_calls, talk)
    end_memberships(actor=None, memberships=Membership.objects.filter(tenant=cast.acme, user=cast.alice))
    assert page_of(cast.amy, url)[0] == 404 and not ConversationShare.objects.exists()
    Membership.objects.create(tenant=cast.acme, user=cast.alice)
    assert page_of(cast.amy, url)[0] == 404
    share(alice_calls, talk)
    talk.delete()
    assert not ConversationShare.objects.exists()


def test_an_empty_conversation_and_an_eleventh_link_are_refused(
    alice_calls: Caller, cast: Cast, talk: Conversation
) -> None:
    empty = make_conversation(cast.alice, cast.support)
    assert alice_calls("post", f"conversations/{empty.pk}/shares/").status_code == 409
    for _ in range(10):
        share(alice_calls, talk)
    assert alice_calls("post", f"conversations/{talk.pk}/shares/").status_code == 409


def test_the_page_makes_lists_and_revokes_links_with_a_csrf_token(cast: Cast, talk: Conversation) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    token = {"HTTP_X_CSRFTOKEN": str(client.get("/t/acme/").context["csrf_token"])}
    address = f"/t/acme/c/{talk.pk}/shares/"
    assert client.post(address).status_code == 403
    (made,) = client.post(address, **token).json()["shares"]
    assert client.get(address).json()["shares"] == [made]
    assert client.post(f"{address}{made['id']}/revoke/", **token).status_code == 200
    assert client.get(address).json()["shares"] == []
    rival = Client()
    rival.force_login(cast.mallory)
    assert rival.get(address).status_code == 404 and rival.post(address).status_code == 404


def test_the_links_are_found_by_the_id_that_the_member_chose(client: Client, cast: Cast, talk: Conversation) -> None:
    """Another member has a row with the id, of which this page says nothing."""
    theirs = make_conversation(cast.mallory, cast.rival_support, title="Secret")
    client.force_login(cast.alice)
    assert client.get(f"/t/acme/c/{theirs.pk}/shares/").status_code == 404
    Conversation.objects.filter(pk=talk.pk).update(thread_key=str(theirs.pk))
    answer = client.get(f"/t/acme/c/{theirs.pk}/shares/")
    assert answer.status_code == 200 and "Secret" not in answer.content.decode()
