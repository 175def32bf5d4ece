"""What the editor's buttons beside a version do: publish it, label it, schedule its publication, cancel that."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.admin.base.links import assistant_label
from assistant.admin.prompts import problems_of
from assistant.contrib.panel.admin.assistants.prompt_forms import moment_in
from assistant.contrib.panel.admin.assistants.prompt_preview import version_of
from assistant.contrib.panel.services.scheduled_prompts import cancel_publication, schedule_publication
from assistant.models import Assistant, PromptVersion
from assistant.services.assistants.prompt_values import UnknownVariables
from assistant.services.assistants.prompts import label_prompt, publish_prompt
from assistant.toolkit.text import clean_text


def act_on_version(request: HttpRequest, assistant: Assistant, verb: str, number: str) -> bool:
    """Do what a button says with the version of this number, and add a message; return whether there is such a button.

    Raises:
        Http404: the assistant has no such version.
    """
    act = _ACTIONS.get(verb)
    if act is None:
        return False
    version = version_of(assistant, number)
    version.assistant = assistant
    try:
        messages.success(request, act(request, version))
    except UnknownVariables as exc:
        sentence = _("Version %(number)s was not published: its variables are gone.") % {"number": number}
        messages.error(request, " ".join([sentence, *problems_of(exc)]))
    except ValidationError as exc:
        messages.error(request, " ".join(exc.messages))
    return True


def _publish(request: HttpRequest, version: PromptVersion) -> str:
    publish_prompt(version=version, actor=request.user)
    text = _("Version %(number)s of %(assistant)s is published, and used from the next run on.")
    return text % {"number": version.number, "assistant": assistant_label(version.assistant)}


def _label(request: HttpRequest, version: PromptVersion) -> str:
    label = " ".join(clean_text(request.POST.get(f"label-{version.number}", "")).split())
    if len(label) > (PromptVersion._meta.get_field("label").max_length or 0):
        raise ValidationError(_("A label has at most 60 characters."))
    label_prompt(version=version, label=label, actor=request.user)
    return _("The label of version %(number)s is stored.") % {"number": version.number}


def _schedule(request: HttpRequest, version: PromptVersion) -> str:
    tenant = version.assistant.tenant
    # That of the question alone: a field beside a version has not been asked about.
    at = moment_in(request.POST.get("at", ""), tenant=tenant)
    if at <= timezone.now():
        raise ValidationError(_("This moment has passed. Choose a later one."))
    try:
        schedule_publication(version=version, at=at, actor=request.user)
    except UnknownVariables:
        raise
    except ValueError:
        raise ValidationError(
            _("Nothing was scheduled: choose a moment within a year, and cancel others if twenty wait.")
        ) from None
    text = _("Version %(number)s will be published on %(at)s (%(zone)s).")
    return text % {"number": version.number, "at": f"{at:%Y-%m-%d %H:%M}", "zone": tenant.timezone}


def _refuse_no_moment(request: HttpRequest, version: PromptVersion) -> str:
    raise ValidationError(
        _("Choose the day and time at which version %(number)s is published.") % {"number": version.number}
    )


def _cancel(request: HttpRequest, version: PromptVersion) -> str:
    if not cancel_publication(version=version, actor=request.user):
        raise ValidationError(_("No publication of version %(number)s waits any more.") % {"number": version.number})
    return _("Version %(number)s will not be published.") % {"number": version.number}


_ACTIONS: Mapping[str, Callable[[HttpRequest, PromptVersion], str]] = {
    "publish": _publish,
    "label": _label,
    "schedule": _schedule,
    "ask-at": _refuse_no_moment,  # with one, the editor asks
    "cancel": _cancel,
}
