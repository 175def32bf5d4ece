"""The sentences that say which rule decided about a tool: stored in English, shown in the language of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from django.utils.translation import gettext_noop

from assistant.core.toolcalls.protocols import Policy

Whose = Literal["deployment", "tenant", "assistant"]

NOT_IN_CATALOGUE = gettext_noop("Not in this deployment's catalogue.")
FOR_ASSISTANT: Mapping[Policy, str] = {
    "on": gettext_noop("Switched on for this assistant."),
    "ask": gettext_noop("Set to ask first for this assistant."),
    "off": gettext_noop("Switched off for this assistant."),
}
FOR_TENANT: Mapping[Policy, str] = {
    "on": gettext_noop("Switched on for the tenant."),
    "ask": gettext_noop("Set to ask first for the tenant."),
    "off": gettext_noop("Switched off for the tenant."),
}
ASKS_ITSELF = gettext_noop("The tool itself asks before every call.")
ALLOWED_FOR_SERVER = gettext_noop("Allowed on the page of its server.")
ON_BY_DEFAULT = gettext_noop("On by default; the tenant has not switched it.")
NOT_SWITCHED_ON = gettext_noop("Off until the tenant switches it on.")
LEFT_OUT = gettext_noop("Left out by the client.")
FOR_CONVERSATION = gettext_noop("Switched off for this conversation.")
# With a reason, and with an end or without.
BLOCKED: Mapping[Whose, tuple[str, str]] = {
    "deployment": (
        gettext_noop("Off in the whole deployment until %(until)s UTC: %(reason)s."),
        gettext_noop("Off in the whole deployment: %(reason)s."),
    ),
    "tenant": (
        gettext_noop("Switched off for the tenant until %(until)s UTC: %(reason)s."),
        gettext_noop("Switched off for the tenant: %(reason)s."),
    ),
    "assistant": (
        gettext_noop("Switched off for this assistant until %(until)s UTC: %(reason)s."),
        gettext_noop("Switched off for this assistant: %(reason)s."),
    ),
}
LACKS_PERMISSION = gettext_noop("The user lacks the permission %(permission)s.")
