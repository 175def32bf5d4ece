"""What is shown of a prompt before it is used: its text in a member's run, and what differs from what is published."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from assistant.admin.prompts import shown_state
from assistant.contrib.panel.admin.assistants.prompt_forms import EditorForm
from assistant.contrib.panel.services.text_difference import Difference, difference_of
from assistant.core.values.history_window import estimate_tokens
from assistant.models import Assistant, Membership, PromptVersion
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.prompts import text_to_edit

# Members that the field suggests; the names of others can be typed.
MAX_USERS = 60


@dataclass(frozen=True, slots=True)
class Preview:
    """The text of a prompt in a run of a member; `problem` says why it cannot be shown."""

    user: str
    problem: str = ""
    text: str = ""
    difference: Difference | None = None

    @property
    def tokens(self) -> int:
        """The tokens of the prompt, as estimated."""
        return estimate_tokens(self.text)


@dataclass(frozen=True, slots=True)
class Publication:
    """What is shown before a prompt is published.

    Attributes:
        do: what the button that publishes it sends.
        at: when, as it was typed; "" for now.
        number: the version's; None for what was typed.
        tokens: the prompt's, as estimated, with the names of variables and not their values.
        difference: from the published version; None if there is none.
        shown: the `shown_state` that the button sends along.
    """

    do: str
    number: int | None
    tokens: int
    difference: Difference | None
    shown: str
    at: str = ""


def publication_of(
    assistant: Assistant, form: EditorForm, published: PromptVersion | None, number: str, at: str = ""
) -> Publication:
    """Return what to show before a version is published, or what was typed if no number is given.

    Args:
        at: the moment to publish at, as it was typed; "" for now.

    Raises:
        Http404: the assistant has no such version.
    """
    version = version_of(assistant, number) if number else None
    text = str(form["text"].value() or "").replace("\r\n", "\n") if version is None else text_to_edit(version)
    verb = "schedule" if at else "publish"
    return Publication(
        "publish-typed" if version is None else f"{verb}:{version.number}",
        None if version is None else version.number,
        estimate_tokens(text),
        None if published is None else difference_of(text_to_edit(published), text),
        shown_state(text, published),
        at,
    )


def version_of(assistant: Assistant, number: str) -> PromptVersion:
    """Return the version of this number. Raises `Http404` if the assistant has none."""
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    version = assistant.prompt_versions.filter(number=int(number)).first() if is_number else None
    if version is None:
        raise Http404("There is no such version.")
    return version


def users_of(assistant: Assistant) -> list[str]:
    """Return the user names of the first members of an assistant's tenant, who can use it."""
    name = get_user_model().USERNAME_FIELD
    members = Membership.objects.filter(tenant_id=assistant.tenant_id, user__is_active=True)
    return list(
        members.exclude(role=Membership.Role.END_USER)
        .order_by(f"user__{name}")
        .values_list(f"user__{name}", flat=True)[:MAX_USERS]
    )


def preview_of(
    request: HttpRequest, assistant: Assistant, form: EditorForm, published: PromptVersion | None
) -> Preview:
    """Return the preview of what was typed for the member whose user name was sent as `user`."""
    user = request.POST.get("user", "").replace("\x00", "").strip()[:200]
    if not form.is_valid():
        return Preview(user, _("Correct the prompt first."))
    text = form.cleaned_data["text"]
    difference = None if published is None else difference_of(text_to_edit(published), text)
    name = f"user__{get_user_model().USERNAME_FIELD}"
    members = Membership.objects.filter(tenant_id=assistant.tenant_id, **{name: user})
    user_id = members.values_list("user_id", flat=True).first()
    if user_id is None:
        return Preview(user, _("Choose a member of this tenant."), difference=difference)
    resolved = PromptValues(tenant=assistant.tenant, user_id=user_id).resolve(text)
    return Preview(user, text=resolved, difference=difference)
