"""The scope of API keys that mint end users' tokens, and the address where they do."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import Rule

# A key has it only if it is named when the key is made.
MINT_SCOPE = "end_users"
REST: Mapping[str, Mapping[str, Rule]] = {
    "assistants/<slug:assistant>/end-user-tokens/": {"POST": Rule((MINT_SCOPE,))},
}
