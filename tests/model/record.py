"""The record of the last evaluation of the embedded model, and what it was asked."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from assistant.contrib.local_model.warm_up_requests import likely_requests
from assistant.providers.embedded import model
from assistant.providers.embedded.model import prepared
from assistant.providers.embedded.weights import QWEN
from assistant.providers.openai_wire.request_body import request_body
from tests.model.prompts import PROMPTS

RECORD = Path(__file__).with_name("record.json")
TEMPLATE = Path(model.__file__).with_name("chat_template.jinja")


@dataclass(frozen=True, slots=True)
class Record:
    """How many of the prompts called the right tools, and got the right answer; `asked` is a hash of what was sent."""

    asked: str
    prompts: int
    right_tools: int
    right_answers: int

    def keep(self) -> None:
        RECORD.write_text(json.dumps(asdict(self), indent=2) + "\n")


def kept_record() -> Record:
    return Record(**json.loads(RECORD.read_text()))


def asked() -> str:
    """A hash of the demo's system prompts and tools as the model gets them, the questions, and the model."""
    questions = [prompt.text.encode() for prompt in PROMPTS]
    requests = [
        request_body(prepared(request), model="", strict=False, with_usage=False)
        for request in likely_requests(count=4)
    ]
    template = re.sub(r"\{#.*?#\}", "", TEMPLATE.read_text(), flags=re.DOTALL).encode()
    whole = [QWEN.sha256.encode(), template, *questions, *requests]
    return hashlib.sha256(b"\0".join(whole)).hexdigest()[:16]
