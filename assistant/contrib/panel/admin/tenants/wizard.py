"""The page that makes a tenant with owner, assistant, prompt, tools and limits, or as a copy of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.contrib.panel.admin.tenants.inviting import inviting
from assistant.contrib.panel.services.new_tenant import FirstAssistant, check_new_slug, copy_tenant, set_up_tenant
from assistant.models import Tenant, TenantLimits
from assistant.models.tenants import validate_timezone
from assistant.services.errors import Refused
from assistant.services.tenancy.memberships import find_user
from assistant.services.toolpolicy import catalogue

MAX_PROMPT = 100_000
# Suggested as tenants to copy; others can be typed.
MAX_SUGGESTED = 60
LIMITS = ("tenant_messages_per_day", "tenant_cost_per_month")
_PROMPT = _("You are a helpful assistant. Answer briefly, and say so when you do not know something.")
_OF_ASSISTANT = ("assistant", "prompt", "tools", *LIMITS)


def _tools() -> list[tuple[str, str]]:
    return [(tool.name, tool.description) for tool in catalogue.registry()]


def _tools_at_first() -> list[str]:
    return [tool.name for tool in catalogue.registry() if tool.enabled_by_default]


def _limit(name: str) -> Any:
    """Return the form field of a limit, with the checks of its column."""
    column: Any = TenantLimits._meta.get_field(name)
    field = column.formfield()
    field.validators = [*field.validators, *column.validators]
    return field


class NewTenantForm(forms.Form):
    """All about a new tenant. With `copy_of`, the fields about its assistant, tools and limits do not count."""

    name = forms.CharField(label=_("Name"), max_length=200, widget=forms.TextInput(attrs={"autofocus": True}))
    slug = forms.SlugField(
        label=_("Short name"), max_length=63, required=False, help_text=_("In addresses. Empty: made from the name.")
    )
    owner = forms.CharField(
        label=_("Owner"),
        max_length=254,
        help_text=_("A user name."),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    timezone = forms.CharField(label=_("Time zone"), max_length=64, initial="UTC", validators=[validate_timezone])
    copy_of = forms.CharField(
        label=_("Copy of"),
        max_length=63,
        required=False,
        help_text=_(
            "The short name of a tenant whose assistants, prompts, tools, limits and retention the new one gets; never "
            "people, secrets or documents. Empty: a new assistant, as below."
        ),
        widget=forms.TextInput(attrs={"list": "tenants-to-copy", "autocomplete": "off"}),
    )
    assistant = forms.CharField(label=_("Name"), max_length=200, initial=_("Assistant"), required=False)
    prompt = forms.CharField(
        label=_("Prompt"),
        max_length=MAX_PROMPT,
        initial=_PROMPT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    tools = forms.MultipleChoiceField(
        label=_("Tools"), choices=_tools, initial=_tools_at_first, required=False, widget=forms.CheckboxSelectMultiple
    )
    tenant_messages_per_day = _limit("tenant_messages_per_day")
    tenant_cost_per_month = _limit("tenant_cost_per_month")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if inviting() is not None:
            self.fields["owner"].help_text = _("A user name, or the e-mail address of somebody to invite.")

    def clean_owner(self) -> str:
        owner: str = self.cleaned_data["owner"].strip()
        if find_user(owner) is not None:
            return owner
        app = inviting()
        if app is None:
            raise ValidationError(_("Nobody has this user name."))
        if "@" not in owner:
            raise ValidationError(_("Nobody has this user name. Enter an e-mail address to invite somebody."))
        app.check_owner(owner)
        return owner

    def clean_copy_of(self) -> Tenant | None:
        slug: str = self.cleaned_data["copy_of"].strip()
        found = Tenant.objects.filter(slug=slug).select_related("default_provider").first() if slug else None
        if slug and found is None:
            raise ValidationError(_("There is no tenant with this short name."))
        return found

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "name" in cleaned and "slug" in cleaned:
            cleaned["slug"] = cleaned["slug"] or slugify(cleaned["name"])[:63]
            self._check_slug(cleaned["slug"])
        if cleaned.get("copy_of") is not None:
            # Fields that are not used need not be valid.
            for name in _OF_ASSISTANT:
                self.errors.pop(name, None)
        elif "copy_of" in cleaned:
            for name in ("assistant", "prompt"):
                if name in cleaned and not cleaned[name].strip():
                    self.add_error(name, _("The first assistant needs this."))
        return cleaned

    def _check_slug(self, slug: str) -> None:
        try:
            if not slug:
                raise ValidationError(_("No short name can be made from this name: enter one."))
            check_new_slug(slug)
        except ValidationError as exc:
            self.add_error("slug", exc)


@transaction.atomic
def make_tenant(request: HttpRequest, form: NewTenantForm) -> tuple[Tenant, Callable[[], str] | None]:
    """Make the tenant of a valid form; return it, with what sends its owner the invitation if that is nobody's account.

    Raises:
        ValidationError, Refused: the tenant or the invitation could not be made; nothing was.
    """
    values = form.cleaned_data
    is_user = find_user(values["owner"]) is not None
    common = {name: values[name] for name in ("slug", "name", "timezone")}
    common |= {"owner": values["owner"] if is_user else "", "actor": request.user}
    if values["copy_of"] is not None:
        tenant = copy_tenant(source=values["copy_of"], **common)
    else:
        assistant = FirstAssistant(values["assistant"], values["prompt"], values["tools"])
        limits = {name: values[name] for name in LIMITS if values.get(name) is not None}
        tenant = set_up_tenant(assistant=assistant, limits=limits, **common)
    app = inviting()
    return tenant, None if is_user or app is None else app.invite_owner(request, tenant, values["owner"])


def try_to_make(request: HttpRequest, form: NewTenantForm) -> tuple[Tenant, str] | None:
    """Make the tenant and return it with a sentence about what was done; else add to the form why nothing was."""
    try:
        tenant, send = make_tenant(request, form)
        sentence = gettext("%(tenant)s is ready.") % {"tenant": tenant.name}
        # After the transaction: a mail server may be slow.
        return tenant, sentence if send is None else f"{sentence} {send()}"
    except ValidationError as exc:
        form.add_error(None, exc.messages)
    except (ValueError, Refused) as exc:
        form.add_error(None, str(exc))
    return None


def suggestions() -> list[tuple[str, str]]:
    """Return the first tenants that can be copied, as short name and name."""
    return list(Tenant.objects.order_by("name", "slug").values_list("slug", "name")[:MAX_SUGGESTED])
