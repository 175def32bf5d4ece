"""The room *Data* of the control panel is the operators'; where nothing is exposed it says so."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from assistant.contrib.data.services.reviews import read_only_reason
from tests.base import Cast
from tests.contrib.panel.conftest import amys, root

__all__ = ["amys", "root"]
PAGE = "admin:assistant_data_reachreview_changelist"
MODELS = "admin:assistant_data_exposedmodel_changelist"


def test_operators_find_it_in_the_navigation(root: Client) -> None:
    page = root.get(reverse("admin:switchboard")).text
    assert f'href="{reverse(PAGE)}"' in page
    assert "Nothing is exposed." in root.get(reverse(PAGE)).text


def test_the_models_are_listed_where_nothing_is_exposed(root: Client) -> None:
    assert "Nothing is offered yet." in root.get(reverse(MODELS)).text


def test_tenants_admins_do_not_open_the_models(amys: Client) -> None:
    for address in (reverse(MODELS), reverse("admin:data_exposed_model", args=["auth.User"])):
        assert amys.get(address).status_code == amys.post(address).status_code == 403


def test_tenants_admins_do_not(amys: Client) -> None:
    assert reverse(PAGE) not in amys.get(reverse("admin:switchboard")).text
    assert amys.get(reverse(PAGE)).status_code == 403


def test_where_nothing_is_exposed_nothing_waits_for_a_confirmation(cast: Cast) -> None:
    assert read_only_reason() == ""
