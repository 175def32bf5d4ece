"""Chooses what answers in tenants' runs, so that tests ask no provider."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assistant.core.llm.protocol import Model
from assistant.services.assistants.provider_choice import replace_models


@contextmanager
def answer_with(model: Model) -> Iterator[Model]:
    """Let a model answer in all runs of tenants while the block runs, regardless of the configured providers.

    Args:
        model: a `ScriptedModel`, the model of a cassette, or one of your own.
    """
    before = replace_models(lambda _: model)
    try:
        yield model
    finally:
        replace_models(before)
