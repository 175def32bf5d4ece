"""In a project that has mounted no admin the pages have no links to it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import include, path
from pytest_django.fixtures import Settings

from assistant.models import Assistant
from tests.base import Cast

pytestmark = pytest.mark.django_db
urlpatterns = [path("", include("assistant.urls"))]


def page(user: User, address: str) -> str:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    browser = Client()
    browser.force_login(user)
    answer = browser.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_staff_chat_and_see_no_link_to_it(settings: Settings, cast: Cast) -> None:
    settings.ROOT_URLCONF = __name__
    assert "Control panel" not in page(cast.amy, "/t/acme/")
    assert "Open the control panel" not in page(cast.oscar, "/")


def test_who_has_no_assistant_is_not_sent_there(settings: Settings, cast: Cast) -> None:
    settings.ROOT_URLCONF = __name__
    Assistant.objects.update(is_active=False)
    assert "Ask an administrator to set one up." in page(cast.amy, "/t/acme/")
