"""The fallback model of an assistant and of a tenant: chosen in the admin, within the tenant's providers."""

from __future__ import annotations

from typing import Any

import pytest
from django.forms import BoundField, ModelMultipleChoiceField
from django.test import Client
from django.urls import reverse

from assistant.models import Assistant, Provider, Run, Tenant
from assistant.services.assistants.configuration import with_prompt
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.provider_choice import ProviderChoice, choose_provider
from assistant.services.assistants.soft_threshold import SoftModel
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.contrib.panel.settings.test_providers_in_use import delete
from tests.factories import make_provider

URL = "https://llm.example.com/v1"


def page_of(row: Assistant | Tenant) -> str:
    return reverse(f"admin:assistant_{row._meta.model_name}_change", args=[row.pk])


def form_of(client: Client, row: Assistant | Tenant) -> dict[str, Any]:
    """Return the values that the row's form has."""
    found: Any = client.get(page_of(row)).context
    forms = [found["adminform"].form, *(inline.formset for inline in found["inline_admin_formsets"])]
    values: dict[str, Any] = {}
    for one in forms:
        for form in [one.management_form, *one.forms] if hasattr(one, "forms") else [one]:
            values |= {field.html_name: field.value() for field in form if not is_nothing(field)}
    return {name: "" if value is None else value for name, value in values.items() if value is not False}


def is_nothing(field: BoundField) -> bool:
    """Whether a browser sends nothing of a field: a choice of several with none of them chosen."""
    return field.value() is None and isinstance(field.field, ModelMultipleChoiceField)


def chosen(assistant: Assistant, soft: SoftModel | None = None) -> ProviderChoice | None:
    row = with_prompt(Assistant.objects.filter(pk=assistant.pk)).get()
    own = choose_provider(row)
    return fallback_of(assistant=row, choice=own if soft is None else soft.instead_of(own, row), own=own)


@pytest.mark.parametrize("kind", ["assistant", "tenant"])
def test_an_admin_chooses_a_fallback_of_the_tenant_or_of_all(amys: Client, cast: Cast, kind: str) -> None:
    row: Any = cast.support if kind == "assistant" else cast.acme
    own, shared = make_provider(cast.acme, base_url=URL), make_provider(base_url=URL)
    for provider in (own, shared):
        values = form_of(amys, row) | {"fallback_provider": provider.pk, "fallback_model": "second-1"}
        assert amys.post(page_of(row), values).status_code == 302
        row.refresh_from_db()
        assert (row.fallback_provider, row.fallback_model) == (provider, "second-1")


@pytest.mark.parametrize("kind", ["assistant", "tenant"])
def test_a_provider_of_another_tenant_is_no_choice(root: Client, cast: Cast, kind: str) -> None:
    row: Any = cast.support if kind == "assistant" else cast.acme
    foreign = make_provider(cast.globex, base_url=URL)
    answer: Any = root.post(page_of(row), form_of(root, row) | {"fallback_provider": foreign.pk})
    assert (answer.status_code, "fallback_provider" in answer.context["adminform"].form.errors) == (200, True)
    row.refresh_from_db()
    assert row.fallback_provider is None


def test_mallory_changes_no_fallback_of_acme(client: Client, cast: Cast) -> None:
    client.force_login(cast.greta)
    assert client.post(page_of(cast.support), {"fallback_model": "x"}).status_code in {302, 403, 404}
    cast.support.refresh_from_db()
    assert cast.support.fallback_model == ""


def test_the_assistants_fallback_comes_before_the_tenants(cast: Cast) -> None:
    names = ("First", "Second", "Third")
    first, of_tenant, own = (make_provider(cast.acme, base_url=f"{URL}/{name}", name=name) for name in names)
    cast.acme.default_provider, cast.acme.fallback_provider = first, of_tenant
    cast.acme.save()
    assert chosen(cast.support) is not None
    assert chosen(cast.support).label == "Second, test-model"  # type: ignore[union-attr]
    cast.support.fallback_provider, cast.support.fallback_model = own, "m"
    cast.support.save()
    assert chosen(cast.support).label == "Third, m"  # type: ignore[union-attr]


def test_a_model_alone_is_another_one_of_the_same_provider(cast: Cast) -> None:
    provider = make_provider(cast.acme, base_url=URL, name="First")
    cast.support.fallback_model = "small"
    cast.support.save()
    assert chosen(cast.support).label == "First, small"  # type: ignore[union-attr]
    cast.support.fallback_model = provider.default_model
    cast.support.save()
    assert chosen(cast.support) is None


def test_a_model_alone_is_of_the_assistants_own_provider_beyond_the_soft_threshold_too(cast: Cast) -> None:
    own = make_provider(cast.acme, base_url=URL, name="First")
    Assistant.objects.filter(pk=cast.support.pk).update(provider=own, fallback_model="small")
    cheap = SoftModel(make_provider(cast.acme, base_url=f"{URL}/cheap", name="Cheap"), "")
    found = chosen(cast.support, cheap)
    assert found is not None and (found.label, found.base_url) == ("First, small", URL)


def test_a_foreign_fallback_in_a_row_is_not_used(cast: Cast) -> None:
    make_provider(cast.acme, base_url=URL)
    foreign = make_provider(cast.globex, base_url="https://rival.example.com/v1")
    Assistant.objects.filter(pk=cast.support.pk).update(fallback_provider=foreign)
    assert chosen(cast.support) is None


def test_a_provider_that_is_a_fallback_is_kept(root: Client, cast: Cast) -> None:
    row = make_provider(base_url=URL)
    for owner in (cast.support, cast.globex):
        owner.fallback_provider = row
        owner.save()
    page = delete(root, row)
    assert "Support (acme/support), as its fallback" in page
    assert "Globex, as its fallback" in page
    assert Provider.objects.filter(pk=row.pk).exists()


def test_the_page_of_a_run_says_that_the_fallback_answered(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    rounds = [{"at": 0, "ms": 5, "failed": "status 503: overloaded"}, {"at": 5, "ms": 9, "model": "second"}]
    fallback = {"provider": "Second", "model": "second", "reason": "down", "at": 5}
    Run.objects.filter(pk=run.pk).update(timeline={"rounds": rounds, "fallback": fallback}, fallback_model="second")
    page = amys.get(reverse("admin:assistant_run_change", args=[run.pk])).content.decode()
    assert "The fallback model second of Second took over" in page
    assert "status 503: overloaded" in page
    assert "failed, another request followed" in page and "asked again" not in page
