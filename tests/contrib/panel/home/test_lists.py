"""Every list of the admin opens, and makes no more queries for many rows than for few."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.staticfiles import finders
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from assistant.contrib.panel.admin.base.empty_lists import EMPTY_LISTS
from assistant.contrib.price_list.models import ModelPrice
from assistant.models import Assistant, PromptVariable
from assistant.optional_apps import own_models
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.contrib.panel.conftest import fill
from tests.factories import make_assistant, make_member, make_provider, make_tenant
from tools.models import Customer, Order

# The number of queries does not depend on the database; test_row_security.py opens the lists on PostgreSQL.
pytestmark = pytest.mark.once

MODELS = [model for model in admin.site._registry if model._meta.app_label in {"assistant", "tools", "auth"}]


def url_of(model: type[Model], page: str = "changelist", *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def fill_all(cast: Cast, number: int) -> None:
    fill(cast, number)
    for _ in range(number):
        count = Customer.objects.count() + 1
        customer = Customer.objects.create(tenant=cast.acme, number=count, name="Ada", email="ada@example.com")
        Order.objects.create(tenant=cast.acme, number=count, customer=customer, total=1, placed_at=timezone.now())
        add_document(tenant=cast.acme, title=f"Document {count}", text="Refunds take a week.")
        PromptVariable.objects.create(tenant=cast.acme, name=f"hours_{count}", value="From nine to five.")
        make_member(cast.acme)
        make_assistant(cast.acme, prompt="Be kind.")
        make_assistant(make_tenant(), prompt="Be kind.")
        provider = make_provider(cast.acme, base_url="https://llm.example.com/v1")
        ModelPrice.objects.create(tenant=cast.acme, provider=provider, input=1, output=1, valid_from=timezone.now())


def queries_of(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return len(queries)


@pytest.mark.parametrize("who", ["root", "amys"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_list_makes_no_more_queries_for_many_rows(
    model: type[Model], who: str, cast: Cast, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(who)
    if who == "amys" and (model._meta.app_label == "auth" or model is ModelPrice):
        assert client.get(url_of(model)).status_code == 403
        return
    fill_all(cast, 2)
    few = queries_of(client, url_of(model))
    fill_all(cast, 6)
    assert queries_of(client, url_of(model)) <= few
    # The list of tenants is the one with most: it asks which days have sums.
    assert few <= 18


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_rows_page_and_its_history_open(model: type[Model], root: Client, cast: Cast) -> None:
    fill_all(cast, 1)
    row = model._default_manager.first()
    if row is not None:
        assert root.get(url_of(model, "change", row.pk)).status_code == 200
        assert root.get(url_of(model, "history", row.pk)).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_search_for_anything_is_answered(model: type[Model], root: Client, cast: Cast) -> None:
    for text in ("ada", "42", "'; --", "99999999999999999999"):
        assert root.get(url_of(model), {"q": text}).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("number", ["9" * 30, "-" + "9" * 30])
@pytest.mark.django_db(transaction=True)  # PostgreSQL ends a transaction with the number that it refuses
def test_a_filter_by_a_number_that_no_row_has_is_answered(
    model: type[Model], number: str, root: Client, cast: Cast
) -> None:
    for field in ("tenant", "tenant__id__exact", "id", "pk__in"):
        assert root.get(url_of(model), {field: number}, follow=True).status_code == 200


def test_the_index_page_lists_assistants_with_their_providers(root: Client, cast: Cast) -> None:
    page = root.get("/admin/").content.decode()
    assert "Who answers" in page
    assert Assistant.objects.get(tenant=cast.acme).name in page


def test_the_index_page_makes_no_more_queries_for_many_assistants(root: Client, cast: Cast) -> None:
    few = queries_of(root, "/admin/")
    for _ in range(8):
        make_assistant(cast.acme)
    assert queries_of(root, "/admin/") == few


def test_a_filter_that_is_set_says_to_what(root: Client, cast: Cast) -> None:
    fill_all(cast, 2)
    page = root.get("/admin/assistant/run/").content.decode()
    assert page.count("data-filter=") >= 4 and 'class="is-set"' not in page
    chosen = root.get("/admin/assistant/run/", {"status__exact": "finished"}).content.decode()
    assert chosen.count('class="is-set"') == 1 and "Status: <strong>Finished</strong>" in chosen


@pytest.mark.parametrize("page", ["", "{}/change/", "{}/history/"])
def test_pages_say_in_which_zone_their_times_are(amys: Client, cast: Cast, page: str) -> None:
    version = cast.support.prompt_versions.get()
    text = amys.get(f"/admin/assistant/promptversion/{page.format(version.pk)}").content.decode()
    assert "Times are in UTC." in text


def test_the_boards_styles_stay_on_the_board() -> None:
    found = finders.find("assistant/panel/panel.css")
    assert isinstance(found, str)
    selectors = re.findall(r"^\s*([^@{}/*]*\.switchboard(?![\w-])[^{}]*)\{", Path(found).read_text(), re.MULTILINE)
    parts = [part.strip() for selector in selectors for part in selector.split(",")]
    assert len(parts) > 20
    assert all(part.startswith("#content-main.switchboard ") for part in parts)


def test_a_list_without_rows_says_what_to_do_and_one_with_a_filter_does_not(admin_client: Client) -> None:
    for model in own_models():
        text = EMPTY_LISTS.get(str(model._meta.model_name))
        if text is None:
            continue
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        page = admin_client.get(url).content.decode()
        assert 'id="empty-list"' not in page or escape(str(text)) in page, model
    assert (
        "Add its address."
        in admin_client.get(reverse("admin:assistant_end_users_widgetorigin_changelist")).content.decode()
    )
    filtered = admin_client.get(reverse("admin:assistant_provider_changelist"), {"q": "nobody"}).content.decode()
    assert "Nothing is like that." in filtered and "Add one to have" not in filtered


def test_a_list_with_rows_says_nothing_of_the_kind(admin_client: Client, cast: Cast) -> None:
    assert 'id="empty-list"' not in admin_client.get(reverse("admin:assistant_tenant_changelist")).content.decode()
