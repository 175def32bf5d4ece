"""Which scope of an API key the app's addresses need."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import CHAT, READ, Rule

REST: Mapping[str, Mapping[str, Rule]] = {
    "conversations/<uuid:thread>/shares/": {"GET": Rule((READ,)), "POST": Rule((CHAT,), also=(READ,))},
    "conversations/<uuid:thread>/shares/<uuid:share>/": {"DELETE": Rule((CHAT,))},
}
