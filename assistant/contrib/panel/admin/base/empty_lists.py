"""The texts of lists without rows: what the list will show, and what to do first."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# By the name of the model.
EMPTY_LISTS: dict[str, str | Promise] = {
    "apikey": _("There are no keys. Programs need one to use the APIs in a member's name: add one."),
    "approval": _("No tool call waits for an approval."),
    "assistant": _("There is no assistant yet. Add one, then write and publish its prompt."),
    "auditentry": _("Nothing has been changed yet."),
    "conversation": _("Nobody has asked an assistant yet. Conversations are here from their first question on."),
    "customrole": _("There are no roles. Add one to let members do a part of what admins do."),
    "document": _("There are no documents. Add one: assistants with the tool search_docs find it at once."),
    "feedback": _("Nobody has rated an answer yet."),
    "incident": _("There are no incidents: no tool has returned another tenant's data."),
    "job": _("No work waits, and none has failed."),
    "membership": _("Nobody is a member yet. Add members, or invite people on a tenant's page."),
    "message": _("Nothing has been said yet."),
    "promptvariable": _("There are no variables. Add what many prompts share, such as opening hours."),
    "promptversion": _("No prompt has been written yet. Open an assistant, and its prompt's editor."),
    "provider": _("There is no provider. Add one to have a language model answer."),
    "run": _("No assistant has answered yet."),
    "tenant": _("There are no tenants yet. Add one with its owner, assistant and tools, on one page."),
    "toolcall": _("No tool has been called yet."),
    "usageentry": _("No language model has been used yet."),
}


def describe_empty_list(model: str, text: str | Promise) -> None:
    """Say what the list of a model shows while it has no rows.

    Args:
        model: the model's name.
    """
    EMPTY_LISTS[model] = text
