"""What is chosen to answer for an assistant, beyond its address and model."""

from __future__ import annotations

import pytest

from assistant.models import Assistant, Tenant
from assistant.services.assistants.provider_choice import choose_provider
from tests.factories import make_provider


@pytest.mark.parametrize(("kind", "sees"), [("", True), ("gemini", True), ("deepseek", False)])
def test_a_kind_that_takes_texts_only_sees_no_images(kind: str, sees: bool, acme: Tenant, support: Assistant) -> None:
    support.provider = make_provider(base_url="http://127.0.0.1:9/v1", kind=kind, sees_images=True)
    support.save()
    assert choose_provider(support).sees_images is sees
