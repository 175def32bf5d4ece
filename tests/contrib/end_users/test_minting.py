"""A tenant's backend mints tokens for its own end users; nobody else does."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.test import Client

from assistant.contrib.end_users.models import EndUser, validate_origin
from assistant.models import ApiKey, IdempotentAnswer, Membership
from assistant.services.tenancy.members import create_api_key
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.end_users.minting import SHOP, allow, backend, end_user, token_for
from tests.factories import make_assistant

pytestmark = pytest.mark.django_db
DOOR = "assistants/support/end-user-tokens/"


def test_a_token_comes_with_all_that_the_page_needs(cast: Cast) -> None:
    allow(cast.support)
    answer = backend(cast)("post", DOOR, {"user_id": "c-1", "name": "Dora", "context": {"account": 1}})
    assert answer.status_code == 201
    assert answer["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in answer
    body = answer.json()
    assert body["socket"] == "/ws/acme/support/"
    assert body["assistant"]["name"] == "Support"
    made = end_user("c-1")
    assert (made.tenant, made.name, made.context) == (cast.acme, "Dora", {"account": 1})


def test_an_end_user_is_made_once_and_kept_up_to_date(cast: Cast) -> None:
    allow(cast.support)
    shop = backend(cast)
    token_for(shop, "c-1", name="Dora")
    first = end_user("c-1").user_id
    token_for(shop, "c-1", name="Dora D.", context={"plan": "gold"})
    again = end_user("c-1")
    assert (again.user_id, again.name, again.context) == (first, "Dora D.", {"plan": "gold"})


def test_a_request_that_is_sent_again_gets_the_same_token_and_none_is_kept(cast: Cast) -> None:
    allow(cast.support)
    shop = backend(cast)
    first = shop("post", DOOR, {"user_id": "c-1"}, Idempotency_Key="k")
    seen = EndUser.objects.get().seen_at
    again = shop("post", DOOR, {"user_id": "c-1"}, Idempotency_Key="k")
    assert (again.status_code, again.json()) == (201, first.json())
    assert (again["Idempotent-Replayed"], again["Cache-Control"]) == ("true", "no-store")
    assert EndUser.objects.get().seen_at == seen
    assert first.json()["token"].removeprefix("eu_") not in str(IdempotentAnswer.objects.values())
    assert shop("post", DOOR, {"user_id": "c-2"}, Idempotency_Key="k").status_code == 409


def test_the_same_id_is_another_person_for_another_tenant(cast: Cast) -> None:
    allow(cast.support)
    allow(cast.rival_support)
    token_for(backend(cast), "c-1")
    token_for(Caller(cast.globex, cast.greta, scopes=["end_users"]), "c-1")
    users = EndUser.objects.filter(external_id="c-1").values_list("tenant__slug", "user_id")
    assert {slug for slug, _ in users} == {"acme", "globex"}
    assert len({user for _, user in users}) == 2


def test_an_end_user_cannot_sign_in_and_has_no_key(cast: Cast, client: Client) -> None:
    allow(cast.support)
    token_for(backend(cast), "c-1")
    user = end_user("c-1").user
    assert not user.has_usable_password()
    assert authenticate(username=user.get_username(), password="") is None
    with pytest.raises(ValueError, match="not a member"):
        create_api_key(tenant=cast.acme, user=user, name="theirs")
    # Not even with a session that some mistake has made.
    client.force_login(user)
    assert client.get("/t/acme/").status_code == 404
    assert client.get("/api/v1/tenants/acme/conversations/").status_code == 404


@pytest.mark.parametrize("scopes", [["chat"], ["read"], ["tools"]])
def test_a_key_without_the_scope_mints_nothing(scopes: list[str], cast: Cast) -> None:
    allow(cast.support)
    assert Caller(cast.acme, cast.amy, scopes=scopes)("post", DOOR, {"user_id": "c-1"}).status_code == 403
    assert not EndUser.objects.exists()


def test_a_session_mints_nothing(cast: Cast, client: Client) -> None:
    allow(cast.support)
    client.force_login(cast.amy)
    answer = client.post(f"/api/v1/tenants/acme/{DOOR}", {"user_id": "c-1"}, content_type="application/json")
    assert answer.status_code == 403


def test_a_key_does_nothing_but_mint(cast: Cast) -> None:
    shop = backend(cast)
    assert shop.get("conversations/").status_code == 403
    assert shop("post", "conversations/", {"assistant": "support"}).status_code == 403


def test_keys_may_not_mint_unless_they_are_made_for_it(cast: Cast) -> None:
    create_api_key(tenant=cast.acme, user=cast.amy, name="plain")
    assert "end_users" not in ApiKey.objects.get().scopes


def test_without_an_origin_nothing_is_minted(cast: Cast) -> None:
    other = make_assistant(cast.acme, "other")
    allow(other)
    answer = backend(cast)("post", DOOR, {"user_id": "c-1"})
    assert answer.status_code == 403
    assert "origin" in answer.json()["message"]


def test_another_tenants_backend_gets_404(cast: Cast) -> None:
    allow(cast.support)
    rival = Caller(cast.globex, cast.greta, scopes=["end_users"])
    assert rival("post", f"/api/v1/tenants/acme/{DOOR}", {"user_id": "c-1"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "user_id"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": 7}, "user_id"),
        ({"user_id": "x" * 129}, "user_id"),
        ({"user_id": "c", "seconds": 59}, "seconds"),
        ({"user_id": "c", "seconds": 3601}, "seconds"),
        ({"user_id": "c", "context": []}, "context"),
        ({"user_id": "c", "context": {"a": "x" * 9000}}, "context"),
    ],
)
def test_bad_input_is_named(body: dict[str, object], field: str, cast: Cast) -> None:
    allow(cast.support)
    answer = backend(cast)("post", DOOR, body)
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]


def test_end_users_are_no_people_of_the_tenant_in_the_admin(cast: Cast, client: Client) -> None:
    allow(cast.support)
    token_for(backend(cast), "c-1")
    client.force_login(cast.amy)
    assert b"end-user-" not in client.get("/admin/assistant/membership/").content
    assert b"end-user-" not in client.get("/admin/assistant/apikey/add/", {"tenant": cast.acme.pk}).content
    assert b"c-1" in client.get("/admin/assistant_end_users/enduser/").content
    form = {"tenant": cast.acme.pk, "username": "eve", "password": "correct-horse-battery", "role": "end_user"}
    client.post("/admin/assistant/membership/add/", form)
    assert not Membership.objects.filter(user__username="eve").exists()


@pytest.mark.parametrize("origin", [SHOP, "http://localhost:8000", "https://xn--bcher-kva.example"])
def test_origins_as_browsers_name_them_are_taken(origin: str) -> None:
    validate_origin(origin)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "*",
        "https://*.example.com",
        "shop.example.com",
        "https://shop.example.com/",
        "https://Shop.example.com",
        "https://shop.example.com:443",
        "https://shop.example.com:x",
        "https://user@shop.example.com",
        "ftp://shop.example.com",
        "https://",
        "https://shop.example.com?x",
    ],
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ValidationError):
        validate_origin(origin)
