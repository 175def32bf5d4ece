"""The names of what the audit trail records, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant import optional_apps
from assistant.admin.base.filters import NewestValuesFilter

# The objects of actions; for any other action it is the model of that name.
_ABOUT: dict[str, str | Promise] = {
    "approval": _("approval"),
    "limits": _("limits"),
    "member": _("member"),
    "prompt": _("prompt"),
    "signin": _("sign-in"),
    "tool": _("tool"),
}
_DONE: dict[str, str | Promise] = {
    "accept": _("accepted"),
    "activate": _("activated"),
    "add": _("added"),
    "allow": _("allowed again"),
    "approve": _("approved"),
    "begin": _("begun"),
    "block": _("off for everyone"),
    "cancel": _("cancelled"),
    "change": _("changed"),
    "connected": _("account connected"),
    "copy": _("copied"),
    "decide": _("decided"),
    "delete": _("deleted"),
    "disable": _("switched off"),
    "draft": _("drafted"),
    "edit": _("edited"),
    "end": _("ended"),
    "erase": _("erased"),
    "expect": _("expectation set"),
    "export": _("exported"),
    "factor_reset": _("second factor reset"),
    "failure": _("failed"),
    "import": _("imported"),
    "join": _("joined"),
    "judge": _("judged"),
    "keep": _("kept"),
    "label": _("labelled"),
    "limited": _("stopped by a limit"),
    "make": _("made"),
    "publish": _("published"),
    "read": _("read"),
    "reject": _("rejected"),
    "renew": _("sent again"),
    "resend": _("sent again"),
    "respond": _("answered"),
    "restore": _("restored"),
    "retry": _("done again"),
    "revoke": _("revoked"),
    "roles": _("roles set"),
    "rotate": _("replaced"),
    "rotate_key": _("key replaced"),
    "schedule": _("scheduled"),
    "set": _("set"),
    "share": _("shared"),
    "submit": _("submitted"),
    "success": _("succeeded"),
    "suspend": _("suspended"),
    "switch": _("switched"),
    "take_back": _("taken back"),
    "tools": _("tools switched"),
    "trust": _("trusted"),
    "try": _("tried"),
    "unblock": _("follows its switches again"),
    "unschedule": _("not scheduled any more"),
    "unshare": _("not shared any more"),
    "widen": _("given to more conversations"),
    "withdraw": _("made a draft again"),
}


def name_actions(about: str, name: str | Promise) -> None:
    """Say what the actions of the audit trail that begin with a word, such as `prompt` in `prompt.publish`, are about.

    A word that is the name of a model needs no other name.
    """
    _ABOUT[about] = name


def action_title(action: str) -> str:
    """Return an action such as `prompt.publish` in words; the action itself where it has none."""
    about, _dot, verb = action.partition(".")
    if verb not in _DONE:
        return action
    return gettext("%(about)s: %(done)s") % {"about": capfirst(str(_about(about))), "done": _DONE[verb]}


def _about(name: str) -> str | Promise:
    if name in _ABOUT:
        return _ABOUT[name]
    model = optional_apps.own_model(name)
    return name if model is None else str(model._meta.verbose_name)


class ActionFilter(NewestValuesFilter):
    """Filter audit entries by their action, in words."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": action_title(str(choice["display"]))}
