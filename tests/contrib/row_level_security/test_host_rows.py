"""The middleware that shows a host's own pages the rows of the signed-in user's tenants."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser, Group
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.test import override_settings

from assistant.contrib.row_level_security.host_rows import HostRows
from assistant.models import Membership
from assistant.services.tenancy.host import is_third_party
from assistant.services.tenancy.row_scope import tenant_scope, visible_tenants
from tools.models import Customer

pytestmark = pytest.mark.django_db


def request_of(user: Any) -> HttpRequest:
    request = HttpRequest()
    request.user = user
    return request


def seen_by(user: Any) -> str:
    """The tenants that a view sees, below the middleware."""
    with override_settings(ASSISTANT_ROW_LEVEL_SECURITY=True), tenant_scope():
        return str(HostRows(lambda _: HttpResponse(visible_tenants()))(request_of(user)).content.decode())


def test_a_member_sees_the_tenants_of_their_memberships(acme: Any, alice: Any) -> None:
    assert seen_by(alice) == str(acme.pk)


def test_a_strangers_request_sees_nothing(acme: Any, alice: Any) -> None:
    assert seen_by(AnonymousUser()) == ""
    Membership.objects.filter(user=alice).delete()
    assert seen_by(alice) == ""


def test_an_inactive_user_sees_nothing_and_a_superuser_everything(acme: Any, alice: Any) -> None:
    alice.is_active = False
    assert seen_by(alice) == ""
    alice.is_active = True
    alice.is_superuser = True
    assert seen_by(alice) == "*"


def test_it_is_not_used_without_row_level_security() -> None:
    with pytest.raises(MiddlewareNotUsed):
        HostRows(lambda _: HttpResponse())


@pytest.mark.django_db(transaction=True)
def test_async_views_see_them_too(acme: Any, alice: Any) -> None:
    async def view(_: HttpRequest) -> HttpResponse:
        return HttpResponse(visible_tenants())

    async def ask() -> bytes:
        with override_settings(ASSISTANT_ROW_LEVEL_SECURITY=True):
            return bytes((await HostRows(view)(request_of(alice))).content)

    assert async_to_sync(ask)() == str(acme.pk).encode()


def test_models_of_common_packages_are_no_projects_own() -> None:
    assert is_third_party(Group)
    assert not is_third_party(Customer)
