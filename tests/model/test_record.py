"""The record of the embedded model's evaluation belongs to what the model is asked now."""

from __future__ import annotations

import pytest
from django.test import override_settings

from assistant.contrib.demo.tenants import load_demo_tenants
from tests.model.prompts import PROMPTS
from tests.model.record import asked, kept_record


@pytest.mark.model
@pytest.mark.django_db
def test_the_evaluation_was_recorded_with_the_demos_present_prompts_and_tools() -> None:
    with override_settings(DEBUG=True):
        load_demo_tenants()
    record = kept_record()
    assert record.asked == asked(), "the demo's prompts or tools have changed: run `make evaluate`"
    assert record.right_answers >= 53
    assert record.prompts == len({prompt.text for prompt in PROMPTS}) == 60
