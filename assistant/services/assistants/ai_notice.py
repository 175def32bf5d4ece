"""Says that people talk with an AI, as Article 50 of the EU AI Act asks. See docs/ai-act.md."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.models import Assistant
from assistant.services.assistants.welcome import welcome_of
from assistant.services.tenancy.brands import BrandValues

# IPTC's term for what a trained model has made, which images, pages and documents are marked with.
DIGITAL_SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"


@dataclass(frozen=True, slots=True)
class AiNotice:
    """A sentence, "" for ours, and where it stands: at the `start` of each conversation, or above the message `box`."""

    text: str
    place: str


def ai_notice(assistant: Assistant, brand: BrandValues) -> AiNotice:
    """Return what an assistant's conversations say about it in the active language, in its tenant's words."""
    return AiNotice(welcome_of(assistant).notice or brand.ai_notice, brand.ai_notice_place)
