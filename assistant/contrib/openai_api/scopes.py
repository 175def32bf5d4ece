"""Which scope of an API key each address below /v1 needs, by method."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import CHAT, READ, Rule

_CHAT = Rule((CHAT,))
_READ = Rule((READ,))
_CHAT_OR_READ = Rule((CHAT, READ))
_READ_OR_OWN = Rule((READ,), own_runs=(CHAT,))

# By the address below `/v1/`.
OPENAI: Mapping[str, Mapping[str, Rule]] = {
    "models": {"GET": _CHAT_OR_READ},
    "models/<str:model>": {"GET": _CHAT_OR_READ},
    "chat/completions": {"POST": _CHAT},
    "responses": {"POST": _CHAT},
    "responses/<str:response>": {"GET": _READ_OR_OWN, "DELETE": _CHAT},
    "responses/<str:response>/cancel": {"POST": _CHAT},
    "responses/<str:response>/input_items": {"GET": _READ_OR_OWN},
    "conversations": {"POST": _CHAT},
    "conversations/<str:conversation>": {"GET": _READ, "DELETE": _CHAT},
    "conversations/<str:conversation>/items": {"GET": _READ},
    # A key finds the files that it uploaded itself, and no others.
    "files": {"GET": _CHAT_OR_READ, "POST": _CHAT},
    "files/<str:file>": {"GET": _CHAT_OR_READ, "DELETE": _CHAT},
    "files/<str:file>/content": {"GET": _CHAT_OR_READ},
}
