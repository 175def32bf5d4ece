"""Assistants and their tools, and what a tenant has used."""

from __future__ import annotations

from assistant.api.assistants import Assistants, EffectiveTools, OneAssistant
from assistant.api.openapi import Operation
from assistant.api.serializers import AssistantOut, ToolOut, UsageOut, UsageQuery
from assistant.api.usage import UsageView
from assistant.contrib.docs.operations.shapes import Operations

ASSISTANT = {
    "slug": "support",
    "name": "Support",
    "description": "Answers questions on orders.",
    "starters": ["Where is my order?"],
    "greetings": {"default": "How can we help?", "de": "Wie können wir helfen?"},
    "other_models": ["gpt-4.1"],
}
TOOL = {
    "name": "current_time",
    "description": "Tell the current date and time.",
    "parameters": {"type": "object", "properties": {}},
    "policy": "on",
    "rule": "Switched on for the tenant.",
}
LINE = {
    "name": "2026-11-21",
    "runs": 3,
    "input_tokens": 2400,
    "output_tokens": 310,
    "cached_input_tokens": 0,
    "cache_write_tokens": 0,
    "reasoning_tokens": 0,
}

OPERATIONS: Operations = {
    Assistants: {
        "get": Operation(
            "List the assistants",
            responses={200: (AssistantOut(many=True), [ASSISTANT])},
            tag="assistants",
        ),
    },
    OneAssistant: {
        "get": Operation(
            "Read an assistant", path=["assistant"], responses={200: (AssistantOut, ASSISTANT)}, tag="assistants"
        ),
    },
    EffectiveTools: {
        "get": Operation(
            "List an assistant's tools",
            path=["assistant"],
            responses={200: (ToolOut(many=True), [TOOL])},
            tag="assistants",
            description="Every tool of the deployment, what the assistant may do with it for this caller, and the rule "
            "that decided. Needs the scope `tools`.",
        ),
    },
    UsageView: {
        "get": Operation(
            "Read the usage",
            query=UsageQuery,
            responses={200: (UsageOut, {"since": "2026-11-01", "until": "2026-11-21", "results": [LINE]})},
            tag="usage",
            description="The caller's own or, for its admins, the whole tenant's, by days of the tenant's time zone.",
        ),
    },
}
