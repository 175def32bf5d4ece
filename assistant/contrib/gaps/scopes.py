"""The scope of API keys that the app's addresses need."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import Rule

KNOWLEDGE = "knowledge"
REST: Mapping[str, Mapping[str, Rule]] = {
    "knowledge/gaps/": {"GET": Rule((KNOWLEDGE,))},
    "knowledge/labels/": {"GET": Rule((KNOWLEDGE,)), "POST": Rule((KNOWLEDGE,))},
    "knowledge/labels/<int:label>/": {"DELETE": Rule((KNOWLEDGE,))},
}
