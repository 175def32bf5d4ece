"""The events that tenants' webhooks can be sent: those of the core, and those that optional apps report."""

from __future__ import annotations

from django.utils.functional import Promise

from assistant.models import Webhook

_added: dict[str, str | Promise] = {}


def add_event(name: str, label: str | Promise) -> None:
    """Let webhooks subscribe to an event. The app reports it with `record_event`.

    Args:
        name: in two parts, such as "alarm.unseen".
        label: the name and when the event happens, for the control panel.
    """
    _added[name] = label


def event_choices() -> list[tuple[str, str | Promise]]:
    """Return the names of all events, each with its label."""
    return [*Webhook.Event.choices, *_added.items()]
