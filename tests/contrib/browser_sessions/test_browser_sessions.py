"""A person sees where they are signed in, and signs other browsers out, whose open connections are closed."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.core.checks import run_checks
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from assistant.contrib.browser_sessions.browsers import browser_of
from assistant.contrib.browser_sessions.deleting import delete_ended
from assistant.contrib.browser_sessions.models import BrowserSession
from assistant.contrib.data_exports.exports import export_user
from assistant.models import AuditEntry, Membership
from assistant.services.privacy.erasure import erase_user
from tests.base import PASSWORD, Cast
from tests.factories import make_member
from tests.live import Server
from tests.ws import open_socket

pytestmark = pytest.mark.django_db
PAGE = "/accounts/settings/"
CHAT = "/"
EVERYWHERE_ELSE = "/accounts/sessions/end/"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 Version/26.0 Mobile Safari/604.1"
OFFICE = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:150.0) Gecko/20100101 Firefox/150.0"
ENGINES = ["db", "cache", "cached_db", "file"]


OURS = "assistant.contrib.browser_sessions.middleware.NoteSessions"


@pytest.fixture(autouse=True)
def _noted(settings: Settings) -> None:
    """The site as the checkout has it: tests/settings.py leaves the middleware out."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, OURS]
    cache.clear()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> str:
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{request.param}"
    settings.SESSION_FILE_PATH = str(tmp_path)
    return str(request.param)


def browser(user: object, user_agent: str = OFFICE) -> Client:
    """A signed-in browser that has opened the chat."""
    client = Client(headers={"User-Agent": user_agent})
    client.force_login(user)  # type: ignore[arg-type]
    assert client.get(CHAT, follow=True).status_code == 200
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(PAGE).status_code == 200


def row_of(client: Client) -> int:
    return int(client.session["assistant_browser_session"])


def test_a_session_is_signed_out_with_each_engine_that_stores_them(engine: str, cast: Cast) -> None:
    office = browser(cast.alice)
    phone = browser(cast.alice, PHONE)
    page = office.get(PAGE).content.decode()
    assert "Firefox on Windows" in page
    assert "Safari on iPhone" in page
    answer = office.post(f"/accounts/sessions/{row_of(phone)}/end/", follow=True)
    assert "1 session is signed out." in answer.content.decode()
    assert "Safari on iPhone" not in answer.content.decode()
    assert is_signed_in(office)
    assert not is_signed_in(phone)


def test_all_others_are_signed_out_and_the_audit_trail_has_it(cast: Cast) -> None:
    here = browser(cast.alice)
    others = [browser(cast.alice, PHONE) for _ in range(2)]
    neighbour = browser(cast.mallory)
    here.post(EVERYWHERE_ELSE)
    assert [is_signed_in(one) for one in (here, *others, neighbour)] == [True, False, False, True]
    entry = AuditEntry.objects.get(action="sessions.sign_out")
    assert (entry.actor_id, entry.tenant_id) == (cast.alice.pk, None)
    assert entry.details == {"browsers": ["Safari on iPhone", "Safari on iPhone"]}


def test_nobody_ends_the_session_of_another_person(cast: Cast) -> None:
    mallory = browser(cast.mallory)
    alice = browser(cast.alice)
    mallory.post(f"/accounts/sessions/{row_of(alice)}/end/")
    mallory.post(EVERYWHERE_ELSE)
    assert is_signed_in(alice)
    assert BrowserSession.objects.filter(user=cast.alice).count() == 1
    assert not AuditEntry.objects.filter(action="sessions.sign_out").exists()


def test_signing_out_needs_a_post_with_the_token_of_the_page_and_a_sign_in(cast: Cast) -> None:
    alice = browser(cast.alice)
    assert alice.get(EVERYWHERE_ELSE).status_code == 405
    assert "/accounts/login/" in Client().post(EVERYWHERE_ELSE).headers["Location"]
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(cast.alice)
    assert careful.post(EVERYWHERE_ELSE).status_code == 403


def test_an_hour_of_requests_writes_one_row_once(cast: Cast) -> None:
    client = browser(cast.alice)
    client.get(CHAT, follow=True)
    with CaptureQueriesContext(connection) as queries:
        for _ in range(3):
            client.get(CHAT, follow=True)
    written = [query["sql"] for query in queries if "browser_sessions" in query["sql"]]
    assert written == []
    BrowserSession.objects.update(last_seen_at=timezone.now() - timedelta(hours=5))
    cache.clear()
    client.get(CHAT, follow=True)
    assert BrowserSession.objects.get().last_seen_at > timezone.now() - timedelta(hours=2)


@pytest.mark.parametrize(
    ("hours", "words"),
    [(0, "Last seen in this hour"), (1, "Last seen 1 hour ago"), (23, "Last seen 23 hours ago"), (49, "2 days ago")],
)
def test_the_list_says_how_long_ago_a_session_was_seen(cast: Cast, hours: int, words: str) -> None:
    phone = browser(cast.alice, PHONE)
    BrowserSession.objects.filter(pk=row_of(phone)).update(last_seen_at=timezone.now() - timedelta(hours=hours))
    assert words in browser(cast.alice).get(PAGE).content.decode()


def test_pages_of_the_project_write_nothing(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.root)
    assert client.get("/admin/").status_code == 200
    assert not BrowserSession.objects.exists()


def test_a_visit_without_a_sign_in_has_no_row(db: None) -> None:
    Client().get("/accounts/login/")
    assert not BrowserSession.objects.exists()


def test_signing_in_and_out_leaves_no_session_in_the_list(cast: Cast) -> None:
    client = Client(headers={"User-Agent": PHONE})
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    assert BrowserSession.objects.get().user_agent == PHONE
    client.post("/accounts/logout/")
    assert "iPhone" not in browser(cast.alice).get(PAGE).content.decode()
    assert BrowserSession.objects.count() == 1


def test_a_changed_password_ends_the_others_and_keeps_its_own(cast: Cast) -> None:
    here = browser(cast.alice)
    browser(cast.alice, PHONE)
    new = "Entirely-other-77"
    here.post(f"{PAGE}password/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new})
    page = here.get(PAGE).content.decode()
    assert "iPhone" not in page
    assert "This browser, now" in page


def test_signed_cookies_have_no_list_and_a_check_says_so(settings: Settings, cast: Cast) -> None:
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    alice = browser(cast.alice)
    assert "Where you are signed in" not in alice.get(PAGE).content.decode()
    assert alice.post(EVERYWHERE_ELSE).status_code == 404
    assert not BrowserSession.objects.exists()
    assert "assistant_browser_sessions.W001" in [found.id for found in run_checks()]


def test_a_project_without_the_middleware_is_told(settings: Settings, cast: Cast) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name != OURS]
    assert "This browser, now" in browser(cast.alice).get(PAGE).content.decode()
    assert "assistant_browser_sessions.W002" in [found.id for found in run_checks()]


def test_the_key_of_a_session_is_in_no_export_and_not_readable_in_the_table(cast: Cast) -> None:
    key = str(browser(cast.alice).session.session_key)
    file = io.BytesIO()
    export_user(user=cast.alice, actor=None, to=file)
    with zipfile.ZipFile(file) as archive:
        lines = archive.read("assistant_browser_sessions.BrowserSession.jsonl").decode()
    assert json.loads(lines)["user_agent"] == OFFICE
    assert key not in lines
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_key FROM assistant_browser_sessions_browsersession")
        assert key not in str(cursor.fetchall())


def test_rows_go_with_the_person_and_after_the_longest_life_of_a_session(settings: Settings, cast: Cast) -> None:
    browser(cast.alice)
    browser(cast.mallory)
    assert delete_ended() == 0
    old = timezone.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE, hours=3)
    BrowserSession.objects.filter(user=cast.mallory).update(last_seen_at=old)
    assert delete_ended() == 1
    erase_user(user=cast.alice, actor=cast.root)
    assert not BrowserSession.objects.exists()


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (OFFICE, "Firefox on Windows"),
        (PHONE, "Safari on iPhone"),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0",
            "Edge on Windows",
        ),
        ("Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 Chrome/150.0.0.0 Mobile", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/26.0 Safari/605.1.15", "Safari on macOS"),
        ("curl/8.14", "Another program"),
        ("", "Another program"),
    ],
)
def test_a_browser_is_called_as_its_people_call_it(user_agent: str, words: str) -> None:
    assert str(browser_of(user_agent)) == words


@pytest.mark.django_db(transaction=True)
async def test_the_open_socket_of_a_session_that_is_signed_out_is_closed(uvicorn_server: Server, cast: Cast) -> None:
    phone = await sync_to_async(browser)(cast.alice, PHONE)
    here = await sync_to_async(browser)(cast.alice)
    cookie = f"sessionid={phone.session.session_key}"
    async with open_socket(uvicorn_server.url, headers={"Cookie": cookie}, origin=uvicorn_server.url) as socket:
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")
        await sync_to_async(here.post)(EVERYWHERE_ELSE)
        assert await socket.closed() == 4401


MEMBERS = "/admin/assistant/membership/"
SIGN_OUT = "/admin/sign-member-out/"


def admin_of(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def alices_page(client: Client, cast: Cast) -> str:
    member = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    return client.get(f"{MEMBERS}{member.pk}/change/").content.decode()


def test_a_members_page_lists_where_they_are_signed_in_and_signs_them_out(cast: Cast) -> None:
    office = browser(cast.alice)
    phone = browser(cast.alice, PHONE)
    amy = admin_of(cast.amy)
    member = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    page = alices_page(amy, cast)
    assert "Firefox on Windows" in page
    assert "Sign out of Safari on iPhone" in page
    assert amy.get(SIGN_OUT).status_code == 405
    answer = amy.post(SIGN_OUT, {"member": member.pk, "session": row_of(phone)}, follow=True)
    assert "1 session is signed out." in answer.content.decode()
    assert (is_signed_in(office), is_signed_in(phone)) == (True, False)
    entry = AuditEntry.objects.get(action="sessions.sign_out")
    assert (entry.tenant, entry.actor, entry.target) == (cast.acme, cast.amy, f"user {cast.alice.pk}")
    amy.post(SIGN_OUT, {"member": member.pk})
    assert not is_signed_in(office)
    assert "In no browser now." in alices_page(amy, cast)


def test_sessions_of_a_person_of_two_tenants_are_ended_by_operators_alone(cast: Cast) -> None:
    office = browser(cast.alice)
    member = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    Membership.objects.create(tenant=cast.globex, user=cast.alice)
    amy = admin_of(cast.amy)
    assert "Firefox on Windows" not in alices_page(amy, cast)
    assert amy.post(SIGN_OUT, {"member": member.pk}).status_code == 404
    assert is_signed_in(office)
    root = admin_of(cast.root)
    assert "Firefox on Windows" in alices_page(root, cast)
    root.post(SIGN_OUT, {"member": member.pk})
    assert not is_signed_in(office)


def test_an_owners_sessions_are_seen_and_ended_by_owners_and_operators_alone(cast: Cast) -> None:
    owner = make_member(cast.acme, "olga", role=Membership.Role.OWNER)
    office = browser(owner)
    member = Membership.objects.get(tenant=cast.acme, user=owner)
    page = f"{MEMBERS}{member.pk}/change/"
    for person in (cast.amy, cast.greta, cast.mallory):
        client = admin_of(person)
        assert "Firefox on Windows" not in client.get(page).content.decode()
        assert client.post(SIGN_OUT, {"member": member.pk}).status_code in (302, 403, 404)
        assert client.post(SIGN_OUT, {"member": member.pk, "session": row_of(office)}).status_code in (302, 403, 404)
    assert is_signed_in(office)
    assert not AuditEntry.objects.filter(action="sessions.sign_out").exists()
    other = admin_of(make_member(cast.acme, "otto", role=Membership.Role.OWNER))
    assert "Firefox on Windows" in other.get(page).content.decode()
    other.post(SIGN_OUT, {"member": member.pk})
    assert not is_signed_in(office)


@pytest.mark.parametrize("sent", [{}, {"member": "²"}, {"member": "9" * 40}, {"member": "1", "session": "x"}])
def test_what_names_no_member_signs_nobody_out(cast: Cast, sent: dict[str, str]) -> None:
    assert admin_of(cast.root).post(SIGN_OUT, sent).status_code == 404


def test_a_rivals_admin_and_members_sign_nobody_out(cast: Cast) -> None:
    office = browser(cast.alice)
    member = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    assert admin_of(cast.greta).post(SIGN_OUT, {"member": member.pk}).status_code == 404
    assert admin_of(cast.mallory).post(SIGN_OUT, {"member": member.pk}).status_code in (302, 403, 404)
    assert Client(enforce_csrf_checks=True).post(SIGN_OUT, {"member": member.pk}).status_code in (302, 403)
    assert is_signed_in(office)
