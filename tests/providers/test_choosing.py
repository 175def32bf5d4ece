"""The choice of the provider: the assistant's, else the tenant's, else the deployment's, else one without a key."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.models import Assistant, ToolSetting
from assistant.services.assistants.configuration import find_assistant
from assistant.services.assistants.provider_choice import choose_other_model, choose_provider, model_of
from tests.base import Cast
from tests.factories import make_provider


def chosen(cast: Cast) -> tuple[str, str]:
    found = find_assistant(tenant_id=cast.acme.pk, slug="support")
    assert found is not None
    choice = choose_provider(found)
    # The same for callers that have not loaded it in one query.
    assert choose_provider(Assistant.objects.get(pk=found.pk)).sentence == choice.sentence
    return choice.source, choice.base_url


def test_the_most_specific_provider_is_chosen(cast: Cast, settings: Any) -> None:
    assert chosen(cast) == ("stand-in", "")
    settings.OPENAI_BASE_URL = "https://deployment.example/v1"
    make_provider(cast.globex, base_url="https://rival.example/v1")
    make_provider(None, base_url="https://open.example/v1")
    assert chosen(cast) == ("deployment", "https://deployment.example/v1")
    make_provider(cast.acme, base_url="https://oldest.example/v1")
    newer = make_provider(cast.acme, base_url="https://newer.example/v1")
    assert chosen(cast) == ("tenant", "https://oldest.example/v1")
    cast.acme.default_provider = newer
    cast.acme.save()
    assert chosen(cast) == ("tenant", "https://newer.example/v1")
    cast.support.provider = make_provider(cast.acme, base_url="https://own.example/v1")
    cast.support.save()
    assert chosen(cast) == ("assistant", "https://own.example/v1")


@pytest.mark.parametrize(("has_own", "queries"), [(False, 1), (True, 2)])
def test_only_a_tenant_with_providers_of_its_own_costs_another_query(cast: Cast, has_own: bool, queries: int) -> None:
    if has_own:
        make_provider(cast.acme, base_url="https://own.example/v1")
    with CaptureQueriesContext(connection) as asked:
        found = find_assistant(tenant_id=cast.acme.pk, slug="support")
        assert found is not None
        choose_provider(found)
    assert len(asked) == queries


@pytest.mark.parametrize("place", ["assistant", "tenant"])
def test_no_tenants_key_is_used_for_another(cast: Cast, place: str, caplog: pytest.LogCaptureFixture) -> None:
    rivals = make_provider(cast.globex, base_url="https://rival.example/v1", api_key="sk-rival")
    row, name = (cast.support, "provider") if place == "assistant" else (cast.acme, "default_provider")
    setattr(row, name, rivals)
    row.save()
    assert chosen(cast) == ("stand-in", "")
    assert "of another tenant" in caplog.text
    with pytest.raises(ValidationError, match="does not belong to the tenant"):
        row.full_clean()


def test_a_switch_of_another_tenants_assistant_is_not_valid(cast: Cast) -> None:
    with pytest.raises(ValidationError, match="does not belong to the tenant"):
        ToolSetting(tenant=cast.globex, assistant=cast.support, tool="calculate").full_clean()


@pytest.mark.parametrize(
    ("model", "sees"), [("gpt-4.1", True), ("o3-mini", False), ("meta/llama-3.3-70b", False), ("llama3.2-vision", True)]
)
def test_another_model_sees_images_only_if_it_is_not_known_to_see_none(cast: Cast, model: str, sees: bool) -> None:
    row = make_provider(cast.acme, base_url="https://own.example/v1", sees_images=True, default_model="o3-mini")
    Assistant.objects.filter(pk=cast.support.pk).update(other_models=[model], provider=row)
    found = find_assistant(tenant_id=cast.acme.pk, slug="support")
    assert found is not None
    choice = choose_provider(found)
    assert choice.sees_images  # what an operator has said of the default model is believed
    if model != choice.model:
        assert choose_other_model(choice, found, model).sees_images == sees
    row.delete()


def test_a_provider_keeps_options_that_its_wire_format_reserves_to_itself(cast: Cast) -> None:
    row = make_provider(cast.acme, base_url="https://own.example/v1", extra_body={"store": True})
    found = find_assistant(tenant_id=cast.acme.pk, slug="support")
    assert found is not None
    assert choose_provider(found).extra_body == {"store": True}
    type(row).objects.update(wire_format="responses")
    found = find_assistant(tenant_id=cast.acme.pk, slug="support")
    assert found is not None
    choice = choose_provider(found)
    assert choice.extra_body == {} and model_of(choice).name == choice.model


def test_runs_with_the_same_choice_have_one_model_and_a_new_key_another(cast: Cast) -> None:
    row = make_provider(cast.acme, base_url="https://own.example/v1", api_key="sk-first")

    def model() -> Any:
        found = find_assistant(tenant_id=cast.acme.pk, slug="support")
        assert found is not None
        return model_of(choose_provider(found))

    first = model()
    assert model() is first
    row.api_key = "sk-second"
    row.save()
    assert model() is not first
