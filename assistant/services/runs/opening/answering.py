"""What answers in a run: the assistant's choice, or what stands in its place, and what takes over."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.models import Assistant
from assistant.services.assistants.configuration import may_fall_back
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.provider_choice import ProviderChoice
from assistant.services.assistants.soft_threshold import SoftModel


@dataclass(frozen=True, slots=True)
class Answering:
    """What answers in a run.

    Attributes:
        provider: the provider and its model.
        soft: what answers in place of what an assistant would choose; None below the tenant's soft threshold of cost.
        fallback: what takes over when `provider` cannot answer; None if nothing does.
        replaced: the provider and model in whose place `provider` answers; "" if it is the assistant's choice.
    """

    provider: ProviderChoice
    soft: SoftModel | None = None
    fallback: ProviderChoice | None = None
    replaced: str = ""


def answering(
    own: ProviderChoice, *, assistant: Assistant, soft: SoftModel | None, is_replaced: bool = True
) -> Answering:
    """Return what answers in a run of an assistant.

    Args:
        own: the assistant's choice.
        soft: what answers in place of what an assistant would choose; None below the soft threshold.
        is_replaced: whether that holds for this run, and not only for the assistants that it asks.
    """
    choice = soft.instead_of(own, assistant) if soft is not None and is_replaced else own
    return Answering(
        choice,
        soft,
        fallback=fallback_of(assistant=assistant, choice=choice, own=own) if may_fall_back(assistant) else None,
        replaced="" if choice is own or choice.label == own.label else own.label,
    )
