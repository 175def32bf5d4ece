"""The chat's pages: for members only, each with what it needs, and strict about what may run in them."""

from __future__ import annotations

import json
import re

import django
import pytest
from django.conf import settings as site_settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.fixtures import Settings

from assistant.models import Assistant, Conversation, Membership, Tenant
from assistant.services.eventlog.configured import is_shared
from tests.base import PASSWORD, Cast
from tests.factories import make_assistant, make_conversation, make_member, make_message

UNKNOWN = "6f1c2a52-3a43-4a5c-9d0e-0c4f6f1d2b11"


UNKNOWN = "6f1c2a52-3a43-4a5c-9d0e-0c4f6f1d2b11"


@pytest.fixture
def visit(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    return make_conversation(cast.alice, cast.support, title="Refund")


def address(name: str, talk: Conversation) -> str:
    return reverse(f"assistant:{name}", kwargs={"tenant": talk.tenant.slug, "thread": talk.pk})


def test_a_stranger_is_asked_to_sign_in_and_led_back(client: Client, cast: Cast) -> None:
    assert client.get("/t/acme/").headers["Location"] == "/accounts/login/?next=/t/acme/"
    answer = client.post(
        "/accounts/login/?next=/t/acme/", {"username": "alice", "password": PASSWORD, "next": "/t/acme/"}
    )
    assert answer.headers["Location"] == "/t/acme/"


def test_signing_in_does_not_lead_elsewhere(client: Client, cast: Cast) -> None:
    form = {"username": "alice", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/accounts/login/", form).headers["Location"] == "/"


def test_home_leads_to_the_only_organisation(visit: Client) -> None:
    assert visit.get("/").headers["Location"] == "/t/acme/"


def test_home_asks_which_of_several_and_remembers(visit: Client, alice: User, globex: Tenant) -> None:
    Membership.objects.create(tenant=globex, user=alice)
    assert "Globex" in visit.get("/").content.decode()
    visit.get("/t/globex/")
    assert visit.get("/").headers["Location"] == "/t/globex/"


def test_home_forgets_an_organisation_that_was_left(visit: Client, alice: User, globex: Tenant) -> None:
    place = Membership.objects.create(tenant=globex, user=alice)
    visit.get("/t/globex/")
    place.delete()
    assert visit.get("/").headers["Location"] == "/t/acme/"


def test_who_belongs_nowhere_is_told(client: Client, cast: Cast) -> None:
    client.force_login(cast.oscar)
    assert "No organisation yet" in client.get("/").content.decode()


def test_a_member_of_a_suspended_organisation_reads_that(client: Client, cast: Cast, alice: User) -> None:
    Tenant.objects.update(is_active=False)
    client.force_login(alice)
    page = client.get("/").content.decode()
    assert "Acme is suspended" in page
    assert "do not belong" not in page
    assert "Globex" not in page


def test_members_of_a_suspended_tenant_read_its_notice_and_no_other(client: Client, cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False, suspension_notice="Please call <billing>.")
    Tenant.objects.filter(pk=cast.globex.pk).update(is_active=False, suspension_notice="Globex is closed.")
    client.force_login(cast.alice)
    page = client.get("/").content.decode()
    assert "Acme is suspended" in page
    assert "Please call &lt;billing&gt;." in page
    assert "Globex" not in page
    client.force_login(cast.oscar)
    assert "suspended" not in client.get("/").content.decode()


def test_the_chat_page_says_who_answers(visit: Client, support: Assistant) -> None:
    page = visit.get("/t/acme/").content.decode()
    assert support.name in page
    assert 'data-socket="/ws/acme/support/"' in page


def test_another_assistant_can_be_asked_for(visit: Client, acme: Tenant, support: Assistant) -> None:
    make_assistant(acme, "coach", name="Coach")
    assert 'data-socket="/ws/acme/coach/"' in visit.get("/t/acme/?assistant=coach").content.decode()
    assert visit.get("/t/acme/?assistant=nobody").status_code == 404


def test_a_conversation_keeps_its_assistant(visit: Client, acme: Tenant, talk: Conversation) -> None:
    make_assistant(acme, "aaa", name="Aaa")
    page = visit.get(address("thread", talk)).content.decode()
    assert 'data-socket="/ws/acme/support/"' in page
    assert f'data-thread="{talk.pk}"' in page


def test_a_tenant_without_an_assistant_says_so(visit: Client, acme: Tenant) -> None:
    Assistant.objects.filter(tenant=acme).update(is_active=False)
    assert "No assistant yet" in visit.get("/t/acme/").content.decode()


@pytest.mark.parametrize("path", ["/t/globex/", "/t/nowhere/", f"/t/acme/c/{UNKNOWN}/", "/t/globex/conversations/"])
def test_what_is_not_ones_own_does_not_exist(visit: Client, cast: Cast, path: str) -> None:
    assert visit.get(path).status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "thread",
        "rename-conversation",
        "delete-conversation",
        "pin-conversation",
        "archive-conversation",
    ],
)
def test_a_rivals_conversation_does_not_exist(client: Client, cast: Cast, talk: Conversation, name: str) -> None:
    client.force_login(cast.mallory)
    call = client.get if name == "thread" else client.post
    assert call(address(name, talk)).status_code == 404
    assert call(address(name, talk).replace("acme", "globex"), {"title": "Mine"}).status_code == 404
    talk.refresh_from_db()
    assert (talk.title, talk.pinned_at, talk.archived_at) == ("Refund", None, None)


def test_a_suspended_tenants_pages_are_gone(visit: Client, acme: Tenant) -> None:
    acme.is_active = False
    acme.save()
    assert visit.get("/t/acme/").status_code == 404


def test_its_members_read_the_notice_at_each_address(visit: Client, acme: Tenant, talk: Conversation) -> None:
    Tenant.objects.filter(pk=acme.pk).update(is_active=False, suspension_notice="Please call <billing>.")
    for path in ("/t/acme/", address("thread", talk)):
        page = visit.get(path)
        assert page.status_code == 404
        assert "Please call &lt;billing&gt;." in page.content.decode()


def test_others_read_nothing_of_a_suspension(client: Client, cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False, suspension_notice="Please call.")
    client.force_login(cast.mallory)
    page = client.get("/t/acme/")
    assert page.status_code == 404
    assert "Please call" not in page.content.decode() and "suspended" not in page.content.decode()


def test_renaming_answers_with_the_title(visit: Client, talk: Conversation) -> None:
    assert visit.post(address("rename-conversation", talk), {"title": " Two  words "}).json() == {"title": "Two words"}
    assert visit.post(address("rename-conversation", talk), {"title": " "}).status_code == 400
    assert visit.get(address("rename-conversation", talk)).status_code == 405


def test_deleting_says_where_to_go_next(visit: Client, talk: Conversation) -> None:
    assert visit.post(address("delete-conversation", talk)).json() == {"next": "/t/acme/"}
    assert not Conversation.objects.filter(pk=talk.pk).exists()


def test_pinned_ones_come_first_and_archived_ones_are_apart(
    visit: Client, alice: User, support: Assistant, talk: Conversation
) -> None:
    later = make_conversation(alice, support, title="Later")
    assert visit.post(address("pin-conversation", talk), {"on": "1"}).json() == {"on": True}
    found = visit.get("/t/acme/conversations/").content.decode()
    assert found.index("Refund") < found.index("Later") and found.count("Refund") == found.count("Later")
    assert visit.post(address("archive-conversation", later), {"on": "1"}).json() == {"on": True}
    assert "Later" not in visit.get("/t/acme/conversations/").content.decode()
    assert "Later" in visit.get("/t/acme/conversations/?archived=1").content.decode()
    assert visit.post(address("archive-conversation", later), {}).json() == {"on": False}
    assert "Later" in visit.get("/t/acme/conversations/").content.decode()


def test_the_list_goes_on_after_its_first_page(visit: Client, alice: User, support: Assistant) -> None:
    for number in range(60):
        make_conversation(alice, support, title=f"Talk {number}.")
    first = visit.get("/t/acme/conversations/").content.decode()
    (cursor,) = re.findall(r'data-after="([^"]+)"', first)
    rest = visit.get(f"/t/acme/conversations/?after={cursor}").content.decode()
    assert (first.count('class="title"'), rest.count('class="title"')) == (50, 10)
    assert visit.get("/t/acme/conversations/?after=nonsense").status_code == 404


def test_a_search_shows_where_the_words_are(visit: Client, talk: Conversation) -> None:
    make_message(talk, "user", "Where is <b>the parcel</b> now?")
    found = visit.get("/t/acme/conversations/?q=PARCEL").content.decode()
    assert "Where is &lt;b&gt;the <mark>parcel</mark>&lt;/b&gt; now?" in found


def test_changes_need_the_pages_token(alice: User, talk: Conversation) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    answer = strict.post(address("delete-conversation", talk))
    assert answer.status_code == 403
    assert "Please try that again" in answer.content.decode()


def test_the_list_can_be_searched_and_marks_the_open_one(visit: Client, talk: Conversation) -> None:
    found = visit.get(f"/t/acme/conversations/?q=refund&current={talk.pk}").content.decode()
    assert 'aria-current="page"' in found
    assert "No conversation mentions “zebra”" in visit.get("/t/acme/conversations/?q=zebra").content.decode()


def test_names_are_only_text_in_the_pages(visit: Client, cast: Cast) -> None:
    make_conversation(cast.alice, cast.support, title="<script>alert(1)</script>")
    Assistant.objects.filter(pk=cast.support.pk).update(name='"><img src=x>', starters=["<b>x</b>", 7, None])
    page = visit.get("/t/acme/").content.decode()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<b>x" not in page


def test_pages_hold_no_inline_code_or_style(visit: Client, talk: Conversation) -> None:
    for path in ("/t/acme/", address("thread", talk), "/accounts/login/"):
        page = visit.get(path, follow=True).content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page)


def test_the_policy_lets_only_the_site_itself_in(visit: Client) -> None:
    policy = visit.get("/t/acme/").headers["Content-Security-Policy"]
    sent = {directive: sources for directive, *sources in (part.split() for part in policy.split(";"))}
    assert sent == site_settings.SECURE_CSP
    assert (sent["default-src"], sent["script-src"]) == (["'none'"], ["'self'"])
    assert "unsafe" not in policy


def test_the_policy_is_sent_by_django_itself_where_it_can() -> None:
    is_new = django.VERSION >= (6, 0)
    assert ("django.middleware.csp.ContentSecurityPolicyMiddleware" in site_settings.MIDDLEWARE) == is_new
    assert (
        ("csp.middleware.CSPMiddleware" in site_settings.MIDDLEWARE)
        == ("csp" in site_settings.INSTALLED_APPS)
        != is_new
    )


def test_pages_are_not_kept_by_caches(visit: Client) -> None:
    assert "no-store" in visit.get("/t/acme/").headers["Cache-Control"]


def test_the_chat_page_asks_the_same_number_of_queries_for_any_history(visit: Client, cast: Cast) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            visit.get("/t/acme/")
        return len(queries)

    visit.get("/t/acme/")
    before = count()
    for number in range(20):
        make_conversation(cast.alice, cast.support, title=f"Talk {number}")
    assert count() == before <= 12


def test_signing_out_leads_to_the_sign_in(visit: Client) -> None:
    assert visit.post("/accounts/logout/").headers["Location"] == "/accounts/login/"
    assert visit.get("/t/acme/").status_code == 302


def test_staff_find_the_control_panel(client: Client, cast: Cast) -> None:
    client.force_login(cast.amy)
    assert reverse("admin:index") in client.get("/t/acme/").content.decode()
    client.force_login(make_member(cast.acme, "plain"))
    assert reverse("admin:index") not in client.get("/t/acme/").content.decode()


@pytest.mark.parametrize(
    ("name", "words"), [("404.html", "does not exist"), ("500.html", "went wrong"), ("400.html", "could not process")]
)
def test_error_pages_need_nothing_to_be_shown(name: str, words: str) -> None:
    assert words in render_to_string(name)


def test_alive_says_so(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}


def test_ready_checks_what_visitors_need(client: Client, db: None) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert json.loads(answer.content)["checks"] == {
        "database": "ok",
        "migrations": "ok",
        "writes": "ok",
        **({"redis": "ok"} if is_shared() else {}),
    }


def test_probes_need_no_host_name_and_no_https(client: Client, db: None, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz", headers={"host": "10.0.0.7"}).status_code == 200
    assert client.get("/readyz", headers={"host": "10.0.0.7"}).status_code == 200
    assert client.get("/accounts/login/").status_code == 301


def test_not_ready_before_its_migrations(client: Client, db: None) -> None:
    MigrationRecorder.Migration.objects.get(app="tools", name="0001_initial").delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["migrations"]) == (503, "failed")


def test_a_conversation_is_found_by_the_id_that_its_member_chose(visit: Client, talk: Conversation, cast: Cast) -> None:
    """Another member has a row with the id, of which its page says nothing."""
    theirs = make_conversation(cast.mallory, cast.rival_support, title="Secret")
    assert visit.get(address("thread", talk).replace(str(talk.pk), str(theirs.pk))).status_code == 404
    Conversation.objects.filter(pk=talk.pk).update(thread_key=str(theirs.pk))
    found = visit.get(address("thread", talk).replace(str(talk.pk), str(theirs.pk)))
    assert found.status_code == 200 and "Secret" not in b"".join(found).decode()


def test_pages_and_the_list_name_a_conversation_by_that_id(visit: Client, talk: Conversation, cast: Cast) -> None:
    theirs = make_conversation(cast.mallory, cast.rival_support, title="Secret")
    Conversation.objects.filter(pk=talk.pk).update(thread_key=str(theirs.pk))
    shown = visit.get(f"/t/acme/c/{theirs.pk}/").content.decode()
    assert f'data-thread="{theirs.pk}"' in shown and str(talk.pk) not in shown
    assert f'data-id="{theirs.pk}"' in shown and f'href="/t/acme/c/{theirs.pk}/" aria-current="page"' in shown
