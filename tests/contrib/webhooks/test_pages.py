"""Webhooks in the admin: secrets shown once, validated URLs, buttons, and separation of tenants."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from assistant.contrib.panel.admin.base.show_secret_once import new_nonce
from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services.events import MAX_WEBHOOKS, send_test
from assistant.models import AuditEntry
from assistant.toolkit.guards.internal_hosts import parse_internal_host
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.webhooks.hooks import hook

HOOKS = "/admin/assistant_webhooks/webhook/"
DELIVERIES = "/admin/assistant_webhooks/webhookdelivery/"
URL = "https://hooks.example.com/"


def form(cast: Cast, **fields: object) -> dict[str, object]:
    own = {"tenant": cast.acme.pk, "name": "Own", "url": URL, "events": ["run.finished"], "is_active": "on"}
    return {**own, "once": new_nonce(), **fields}


def shown_secret(page: bytes) -> str:
    (secret,) = re.findall(r"whsec_[\w+/=]{40,}", page.decode())
    return secret


def test_a_secret_is_shown_once_and_kept_encrypted(amys: Client, cast: Cast) -> None:
    answer = amys.post(f"{HOOKS}add/", form(cast))
    secret = shown_secret(answer.content)
    assert "no-store" in answer.headers["Cache-Control"]
    row = Webhook.objects.get()
    assert (row.secret, row.events) == (secret, ["run.finished"])
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM assistant_webhooks_webhook")
        assert secret not in str(cursor.fetchall())
    for page in ("", f"{row.pk}/change/", f"{row.pk}/history/", f"{row.pk}/delete/"):
        assert b"whsec_" not in amys.get(HOOKS + page).content
    assert secret not in str(list(AuditEntry.objects.values()))


def test_a_new_secret_is_shown_once_and_the_old_one_stays_valid(amys: Client, cast: Cast) -> None:
    row = hook(cast.acme, URL)
    secret = shown_secret(amys.post(f"{HOOKS}{row.pk}/rotate/", {"once": new_nonce()}).content)
    assert secret != row.secret
    again = Webhook.objects.get()
    assert (again.secret, again.previous_secret) == (secret, row.secret)
    assert AuditEntry.objects.get(action="webhook.rotate").actor == cast.amy


def test_a_repeated_form_creates_no_second_webhook(amys: Client, cast: Cast) -> None:
    fields = form(cast)
    amys.post(f"{HOOKS}add/", fields)
    again = amys.post(f"{HOOKS}add/", fields, follow=True)
    assert b"This was already created" in again.content
    assert again.redirect_chain == [(HOOKS, 302)]
    assert Webhook.objects.count() == 1


def test_a_button_pressed_once_creates_one_secret(amys: Client, cast: Cast) -> None:
    row = hook(cast.acme, URL)
    (button,) = re.findall(r'rotate/.*?name="once" value="(.+?)"', amys.get(f"{HOOKS}{row.pk}/change/").text, re.S)
    secret = shown_secret(amys.post(f"{HOOKS}{row.pk}/rotate/", {"once": button}).content)
    again = amys.post(f"{HOOKS}{row.pk}/rotate/", {"once": button}, follow=True)
    assert b"This was already created" in again.content
    assert amys.post(f"{HOOKS}{row.pk}/rotate/", {"once": "made-up"}).status_code == 302
    assert (Webhook.objects.get().secret, Webhook.objects.get().previous_secret) == (secret, row.secret)


@pytest.mark.parametrize(
    "url", ["http://hooks.example.com/", "https://10.0.0.1/", "https://127.0.0.1/", "https://0x7f.1/"]
)
def test_a_url_must_be_on_the_internet(url: str, amys: Client, cast: Cast) -> None:
    assert amys.post(f"{HOOKS}add/", form(cast, url=url)).status_code == 200
    row = hook(cast.acme, URL)
    assert amys.post(f"{HOOKS}{row.pk}/change/", form(cast, url=url)).status_code == 200
    assert Webhook.objects.get().url == URL


@pytest.mark.parametrize("host", ["receiver:8000", "my_receiver", "a.b_c.internal"])
def test_a_listed_internal_host_is_accepted_by_name(host: str, amys: Client, cast: Cast, settings: Settings) -> None:
    url = f"http://{host}/"
    assert b"must begin with https://" in amys.post(f"{HOOKS}add/", form(cast, url=url)).content
    settings.ASSISTANT_INTERNAL_HOSTS = (parse_internal_host(host),)
    amys.post(f"{HOOKS}add/", form(cast, url=url))
    assert Webhook.objects.get().url == url


@pytest.mark.parametrize(
    "url", ["http://", "ftp://receiver/", "https://receiver:x/", "https://-receiver/", "https://a..b/"]
)
def test_an_invalid_url_is_rejected(url: str, amys: Client, cast: Cast) -> None:
    assert amys.post(f"{HOOKS}add/", form(cast, url=url)).status_code == 200
    assert not Webhook.objects.exists()


def test_a_url_with_a_password_is_rejected(amys: Client, cast: Cast) -> None:
    answer = amys.post(f"{HOOKS}add/", form(cast, url="https://amy:secret@hooks.example.com/"))
    assert b"Leave out the user name and password" in answer.content
    assert not Webhook.objects.exists()


def test_a_change_keeps_the_secret_and_can_switch_on_again(amys: Client, cast: Cast) -> None:
    row = hook(cast.acme, URL, is_active=False, failing_since="2026-01-01T00:00Z", disabled_at="2026-01-04T00:00Z")
    assert b"Switched off at 2026-01-04" in amys.get(HOOKS).content
    assert amys.post(f"{HOOKS}{row.pk}/change/", form(cast)).status_code == 302
    again = Webhook.objects.get()
    assert (again.is_active, again.disabled_at, again.failing_since) == (True, None, None)
    assert (again.name, again.secret) == ("Own", row.secret)


def test_the_number_of_webhooks_is_limited(amys: Client, cast: Cast) -> None:
    for _ in range(MAX_WEBHOOKS):
        hook(cast.acme, URL)
    assert b"at most" in amys.post(f"{HOOKS}add/", form(cast)).content
    assert Webhook.objects.count() == MAX_WEBHOOKS


def test_buttons_send_a_test_event_and_repeat_a_message(amys: Client, cast: Cast) -> None:
    row = hook(cast.acme, URL)
    answer = amys.post(f"{HOOKS}{row.pk}/test/")
    delivery = WebhookDelivery.objects.get()
    assert answer.headers["Location"] == f"{DELIVERIES}{delivery.pk}/change/"
    assert b"webhook.test" in amys.get(answer.headers["Location"]).content
    WebhookDelivery.objects.update(status="failed", next_try_at=None, attempts=10)
    amys.post(f"{DELIVERIES}{delivery.pk}/resend/")
    delivery.refresh_from_db()
    assert (delivery.status, delivery.attempts) == ("pending", 0)
    WebhookDelivery.objects.update(status="delivered", next_try_at=None)
    amys.post(DELIVERIES, {"action": "resend", "_selected_action": [delivery.pk]})
    delivery.refresh_from_db()
    assert delivery.status == "pending"


def test_a_rivals_admin_sees_no_webhooks(cast: Cast) -> None:
    row = hook(cast.acme, URL)
    delivery = send_test(webhook=row)
    WebhookDelivery.objects.update(status="delivered")
    greta = signed_in(cast.greta)
    for path in (f"{HOOKS}{row.pk}/test/", f"{HOOKS}{row.pk}/rotate/", f"{DELIVERIES}{delivery.pk}/resend/"):
        assert greta.post(path).status_code == 404
    greta.post(DELIVERIES, {"action": "resend", "_selected_action": [delivery.pk]})
    assert greta.get(f"{HOOKS}{row.pk}/change/").status_code == 302
    assert WebhookDelivery.objects.get().status == "delivered"
    assert Webhook.objects.get().secret == row.secret


def test_buttons_require_a_post(amys: Client, cast: Cast) -> None:
    row = hook(cast.acme, URL)
    assert amys.get(f"{HOOKS}{row.pk}/rotate/").status_code == 405
