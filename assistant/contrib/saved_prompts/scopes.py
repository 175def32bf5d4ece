"""Which scope of an API key the app's addresses need."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import CHAT, READ, Rule

REST: Mapping[str, Mapping[str, Rule]] = {
    "saved-prompts/": {"GET": Rule((READ,)), "POST": Rule((CHAT,))},
    # The answer to a change shows the text.
    "saved-prompts/<int:saved_prompt>/": {
        "GET": Rule((READ,)),
        "PATCH": Rule((CHAT,), also=(READ,)),
        "DELETE": Rule((CHAT,)),
    },
    "saved-prompts/<int:saved_prompt>/uses/": {"POST": Rule((CHAT,), also=(READ,))},
}
