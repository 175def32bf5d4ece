"""The kinds of providers, in a table: what each takes and gives, and by which addresses and models it is known.

docs/provider-quirks.md says where that is known from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.core.values.messages import ToolCall
from assistant.providers.profiles.profile import Profile, begins_thinking, family, nine_characters, plain_id

AZURE_HOSTS = ("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com", "azure-api.net")
# The port that Ollama listens on by default.
OLLAMA_PORT = 11434
# OpenAI's models that reason take no sampling options and count the tokens of the whole completion.
_REASONS = re.compile(r"(o[1-9]|gpt-[5-9])(?!\d)(?!.*chat)")
SAMPLING = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty"})
_WITHOUT_SIGNATURES = re.compile(r"gemini-[12](\D|$)")
# What Google documents for calls that another model made.
# Source: https://ai.google.dev/gemini-api/docs/thought-signatures
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
_KIMI_THINKS = re.compile(r"thinking|kimi-k(2[.-][5-9]|[3-9])")
_KIMI_ID = re.compile(r"functions\.[a-zA-Z0-9_-]{1,64}:\d{1,6}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def kimi_id(call: ToolCall, number: int) -> str:
    """Return an id as Kimi's template writes them: `functions.name:0`, numbered through the whole conversation."""
    if _KIMI_ID.fullmatch(call.id) and not number:
        return call.id
    return f"functions.{_NOT_IN_NAMES.sub('_', call.name)[:64]}:{number}"


def _of_openai(model: str) -> Mapping[str, Any]:
    if not _REASONS.match(family(model)):
        return {}
    return {"system_role": "developer", "renamed": {"max_tokens": "max_completion_tokens"}, "omitted": SAMPLING}


def _of_gemini(model: str) -> Mapping[str, Any]:
    return {} if _WITHOUT_SIGNATURES.match(family(model)) else {"call_extra": {"extra_content": _NO_SIGNATURE}}


def _of_kimi(model: str) -> Mapping[str, Any]:
    return {"needs_reasoning": bool(_KIMI_THINKS.search(family(model)))}


def _of_template(model: str) -> Mapping[str, Any]:
    return {"begins_thinking": begins_thinking(model)}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of provider.

    Attributes:
        profile: what it takes and gives.
        hosts: the ends of its addresses' hosts.
        models: a pattern of the beginning of its models' names, also on other servers; "" if they say nothing.
        by_model: returns what else the profile has for a model.
    """

    profile: Profile
    hosts: tuple[str, ...] = ()
    models: str = ""
    by_model: Callable[[str], Mapping[str, Any]] | None = None


KINDS_BY_NAME: Mapping[str, Kind] = {
    # Every server that nothing else is known of.
    "openai": Kind(Profile("openai"), hosts=("openai.com",), by_model=_of_openai),
    # Its deployments are named as their owner likes; often after the model.
    "azure": Kind(Profile("azure"), hosts=AZURE_HOSTS, by_model=_of_openai),
    "gemini": Kind(
        Profile("gemini", blank="(empty)"),
        hosts=("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
        models="gemini",
        by_model=_of_gemini,
    ),
    "mistral": Kind(
        Profile(
            "mistral",
            pdf_part="document_url",
            empty_content="",
            call_id=nine_characters,
            alternates=True,
            answers_results=True,
            takes_reasoning=False,
            renamed={"seed": "random_seed", "max_completion_tokens": "max_tokens"},
        ),
        hosts=("mistral.ai",),
        models=r"(open-)?(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)",
    ),
    # In thinking mode its models want the reasoning back that led to a call.
    "deepseek": Kind(
        Profile("deepseek", content="text", empty_content="", needs_reasoning=True),
        hosts=("deepseek.com",),
        models="deepseek",
        by_model=_of_template,
    ),
    "kimi": Kind(
        Profile("kimi", empty_content="", call_id=kimi_id),
        hosts=("moonshot.ai", "moonshot.cn"),
        models="(kimi|moonshot)",
        by_model=_of_kimi,
    ),
    # It wants the reasoning back that led to calls, and writes it into the text unless told not to.
    "minimax": Kind(
        Profile("minimax", empty_content="", defaults={"reasoning_split": True}),
        hosts=("minimax.io", "minimaxi.com"),
        models="minimax",
    ),
    # Its templates allow one system message, and only as the first.
    "qwen": Kind(
        Profile("qwen", empty_content=""),
        hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
        models="(qwen|qwq|qvq)",
        by_model=_of_template,
    ),
    # Of the next three, what a request may contain is up to the model's template.
    "vllm": Kind(Profile("vllm", empty_content="", alternates=True), by_model=_of_template),
    "llama.cpp": Kind(Profile("llama.cpp", empty_content="", alternates=True), by_model=_of_template),
    "ollama": Kind(Profile("ollama", empty_content="", alternates=True), hosts=("ollama.com",), by_model=_of_template),
    # It refuses fields of messages that it does not know.
    "groq": Kind(Profile("groq", takes_reasoning=False), hosts=("groq.com",)),
    # Anthropic by its address for OpenAI's wire format, and gateways that pass requests on to it.
    "anthropic-compatible": Kind(
        Profile("anthropic-compatible", call_id=plain_id, takes_reasoning=False, blank="(empty)"),
        hosts=("anthropic.com",),
        models="claude",
    ),
}
