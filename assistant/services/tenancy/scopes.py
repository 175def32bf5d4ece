"""Which scopes of an API key allow what: one table, which every door reads and the documentation shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

CHAT = "chat"
READ = "read"
TOOLS = "tools"
DOCUMENTS = "documents"
# Scopes of a key that is created without any. The others, and those that optional apps add, must be named.
DEFAULT_SCOPES = (CHAT, READ, TOOLS)
SCOPES = [*DEFAULT_SCOPES, DOCUMENTS]
_texts: list[str | Promise] = [
    _("documents: add, change and delete the tenant's documents; for keys of its admins and owners.")
]


@dataclass(frozen=True, slots=True)
class Rule:
    """The scopes that an address, frame or method requires of a key.

    Args:
        any_of: one of these is enough.
        own_runs: one of these is enough for runs that the same key began, and for nothing else.
        also: all of these are needed besides.
    """

    any_of: Sequence[str]
    own_runs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    def admits(self, scopes: Collection[str]) -> bool:
        """Return whether a key with these scopes is allowed, if only for its own runs."""
        return not {*self.any_of, *self.own_runs}.isdisjoint(scopes) and set(self.also) <= set(scopes)

    def __str__(self) -> str:
        """The scopes in words, as `read or chat`."""
        enough = " or ".join((*self.any_of, *self.own_runs))
        return " and ".join((enough, *self.also))


_CHAT, _READ, _TOOLS = Rule((CHAT,)), Rule((READ,)), Rule((TOOLS,))
# Of what admins and owners do with a tenant's documents.
OF_DOCUMENTS = Rule((DOCUMENTS,))
_CHAT_OR_READ = Rule((CHAT, READ))
_READ_OR_OWN = Rule((READ,), own_runs=(CHAT,))
# For a method that an address does not have: any key gets 405.
ANY = Rule(SCOPES)
# Sessions have all rights of their member; end users' tokens have these scopes.
OF_SESSIONS = Rule(DEFAULT_SCOPES)
OF_TOKENS = frozenset({CHAT, READ})

HANDSHAKE = _CHAT_OR_READ
RUN = "RunAgentInput"
# By the frame's type; one that starts a run has none.
FRAMES: dict[str, Rule] = {
    RUN: _CHAT,
    "attach": _READ_OR_OWN,
    "cancel": _CHAT,
    "feedback": _CHAT,
    "show": _CHAT,
    "ping": _CHAT_OR_READ,
}
# By the address below `/api/v1/tenants/<tenant>/` and the method; HEAD is as GET.
REST: dict[str, Mapping[str, Rule]] = {
    "assistants/": {"GET": _READ},
    "assistants/<slug:assistant>/": {"GET": _READ},
    "assistants/<slug:assistant>/tools/": {"GET": _TOOLS},
    "assistants/<slug:assistant>/runs/": {"POST": _CHAT},
    "conversations/": {"GET": _READ, "POST": _CHAT},
    # The answer to a change shows the title, which is usually the first message.
    "conversations/<uuid:thread>/": {"GET": _READ, "PATCH": Rule((CHAT,), also=(READ,)), "DELETE": _CHAT},
    "conversations/<uuid:thread>/messages/": {"GET": _READ},
    "conversations/<uuid:thread>/shown/": {"PUT": _CHAT},
    "conversations/<uuid:thread>/messages/<str:message_id>/feedback/": {"PUT": _CHAT, "DELETE": _CHAT},
    # A link shows earlier messages.
    "conversations/<uuid:thread>/runs/": {"POST": _CHAT},
    "runs/<str:run_id>/": {"GET": _READ_OR_OWN},
    "runs/<str:run_id>/events/": {"GET": _READ_OR_OWN},
    "runs/<str:run_id>/cancel/": {"POST": _CHAT},
    "runs/<str:run_id>/approvals/": {"POST": _CHAT},
    "approvals/": {"GET": _READ},
    "usage/": {"GET": _READ},
    "files/<uuid:file>/": {"GET": _READ},
    "attachments/": {"POST": _CHAT},
    "attachments/<uuid:attachment>/": {"GET": _READ, "DELETE": _CHAT},
    "attachments/<uuid:attachment>/content/": {"GET": _READ},
    "documents/": {"GET": OF_DOCUMENTS, "POST": OF_DOCUMENTS},
    "documents/<int:document>/": {"GET": OF_DOCUMENTS, "PATCH": OF_DOCUMENTS, "DELETE": OF_DOCUMENTS},
}


def add_rules(
    *, rest: Mapping[str, Mapping[str, Rule]] | None = None, frames: Mapping[str, Rule] | None = None
) -> None:
    """Add the rules of an optional app's addresses and frames to the table."""
    REST.update(rest or {})
    FRAMES.update(frames or {})


def add_scope(scope: str, text: str | Promise) -> None:
    """Add a scope of API keys, which a key has only if it is named when the key is made.

    Args:
        text: what it allows, in a sentence that begins with the scope, for people who make keys.
    """
    SCOPES.append(scope)
    _texts.append(text)


def texts_of_added_scopes() -> list[str]:
    """Return what the scopes that a key has only if they are named allow, a sentence each."""
    return [str(text) for text in _texts]
