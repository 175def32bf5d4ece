"""Which scope of an API key the app's addresses need."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import CHAT, READ, Rule

REST: Mapping[str, Mapping[str, Rule]] = {
    # The answer to a new request shows the question of the conversation.
    "conversations/<uuid:thread>/tool-requests/": {"GET": Rule((READ,)), "POST": Rule((CHAT,), also=(READ,))},
    "conversations/<uuid:thread>/tool-requests/<int:tool_request>/": {"DELETE": Rule((CHAT,))},
}
