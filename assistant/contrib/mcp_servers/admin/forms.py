"""Forms of external MCP servers: credentials are write-only, and URLs are checked before they are saved."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.address_fields import AddressField
from assistant.admin.base.merging import SHOWN, MergingForm
from assistant.admin.base.secret_fields import SecretTextarea
from assistant.admin.base.tenant_scope import TenantForm
from assistant.contrib.mcp_servers.models import McpCredential, McpServer, McpTool
from assistant.contrib.mcp_servers.services.circuit_breaker import INITIAL_COLUMNS
from assistant.contrib.mcp_servers.services.servers import PREFIX, read_headers
from assistant.contrib.mcp_servers.services.tool_listings import is_quarantined
from assistant.mcp_client.shared_context import CONTEXT_KEYS
from assistant.models import Membership
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.guards.url_guard import UnsafeUrl

_WIDE = forms.URLInput(attrs={"class": "vURLField"})


def command_choices() -> list[tuple[str, str]]:
    """Return the commands that `ASSISTANT_MCP_STDIO_COMMANDS` allows, and none."""
    return [("", gettext("none")), *((name, name) for name in settings.ASSISTANT_MCP_STDIO_COMMANDS)]


class SecretsForm(TenantForm):
    """Credential fields; stored headers and client secrets are not shown, and an empty field keeps them."""

    new_headers = forms.CharField(
        label=gettext_lazy("Headers"),
        required=False,
        widget=SecretTextarea(),
        help_text=gettext_lazy(
            'A JSON object such as {"Authorization": "Bearer …"}; encrypted at rest, never shown again. '
            "Empty: the stored ones are kept."
        ),
    )
    new_oauth_client_secret = forms.CharField(
        label=gettext_lazy("OAuth client secret"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Encrypted at rest and never shown again. Empty: the stored one is kept."),
    )
    clear_secrets = forms.BooleanField(
        label=gettext_lazy("Delete the stored headers and client secret"), required=False
    )

    def clean_new_headers(self) -> str:
        text: str = self.cleaned_data["new_headers"].strip()
        try:
            read_headers(text)
        except ValueError as exc:
            raise forms.ValidationError(str(exc)) from None
        return text

    def put_secrets(self, row: McpServer | McpCredential) -> None:
        """Copy the entered secrets to a row and reset its circuit breaker."""
        if self.cleaned_data["clear_secrets"]:
            row.headers = row.oauth_client_secret = ""  # nosec B105
        if self.cleaned_data["new_headers"]:
            row.headers = self.cleaned_data["new_headers"]
        if self.cleaned_data["new_oauth_client_secret"]:
            row.oauth_client_secret = self.cleaned_data["new_oauth_client_secret"]
        for name, value in INITIAL_COLUMNS.items():
            setattr(row, name, value)

    def keeps_secrets(self) -> bool:
        """Whether stored secrets remain in use after this change."""
        row = self.instance
        given = self.cleaned_data
        keeps_headers = getattr(row, "headers_are_stored", True) and not given.get("new_headers")
        keeps_secret = getattr(row, "secret_is_stored", True) and not given.get("new_oauth_client_secret")
        return bool(keeps_headers or keeps_secret) and not given.get("clear_secrets")


class ServerForm(SecretsForm):
    """A tenant's server: an allowed URL, or one of the deployment's commands."""

    url = AddressField(label=gettext_lazy("URL"), required=False, widget=_WIDE)
    oauth_issuer = AddressField(
        label=gettext_lazy("OAuth issuer"),
        required=False,
        widget=_WIDE,
        help_text=McpServer._meta.get_field("oauth_issuer").help_text,
    )
    command = forms.ChoiceField(
        label=gettext_lazy("Command"),
        choices=command_choices,
        required=False,
        help_text=McpServer._meta.get_field("command").help_text,
    )
    context_keys = forms.MultipleChoiceField(
        label=gettext_lazy("Context"),
        choices=[(key, key) for key in CONTEXT_KEYS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Only ticked values are sent."),
    )

    class Meta:
        model = McpServer
        fields = (
            "tenant",
            "name",
            "prefix",
            "url",
            "command",
            "credentials_of",
            "oauth_client_id",
            "oauth_issuer",
            "oauth_scope",
            "context_keys",
            "asks_people",
            "timeout_seconds",
            "is_active",
        )

    def clean_prefix(self) -> str:
        prefix: str = self.cleaned_data["prefix"]
        if not PREFIX.fullmatch(prefix):
            raise forms.ValidationError(
                gettext(
                    "Lower-case letters and digits, separated by single - or _; it must not be ask or begin with ask_."
                )
            )
        return prefix

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if bool(cleaned.get("url")) == bool(cleaned.get("command")) and "url" not in self.errors:
            self.add_error("url", gettext("Give either a URL or a command."))
        for name in ("url", "oauth_issuer"):
            self._check_url(name, cleaned.get(name))
        if cleaned.get("oauth_client_id") and not cleaned.get("oauth_issuer"):
            self.add_error("oauth_issuer", gettext("Name the authorization server that the client belongs to."))
        if self.instance.pk and {"url", "command", "oauth_issuer"} & set(self.changed_data):
            self._guard_secrets()
        return cleaned

    def _check_url(self, name: str, url: str | None) -> None:
        if url and name in self.changed_data:
            try:
                tenant_guard().check(url)
            except UnsafeUrl as exc:
                self.add_error(name, str(exc))

    def _guard_secrets(self) -> None:
        """Reject a new URL with stored secrets: an editor could have them sent to a server of their own."""
        if self.keeps_secrets():
            self.add_error(
                "url", gettext("The address changes: give the credentials for it, or delete the stored ones.")
            )
        if self.instance.members_credentials.exists():
            self.add_error("url", gettext("Members have stored credentials for the old address: delete these first."))


class CredentialForm(SecretsForm):
    """A member's credentials for one server."""

    class Meta:
        model = McpCredential
        fields = ("server", "user", "oauth_client_id")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            for name in ("server", "user"):
                self.fields[name].disabled = True

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        server, user = cleaned.get("server"), cleaned.get("user")
        if server is not None and user is not None:
            members = Membership.objects.filter(tenant_id=server.tenant_id, user_id=user.pk)
            if not members.exists():
                self.add_error("user", gettext("This does not belong to the tenant."))
        return cleaned


class ToolForm(MergingForm):
    """The decision on one tool. The checkboxes submit the digest of the definition that the operator saw."""

    accepts_change = forms.BooleanField(label=gettext_lazy("accept the change"), required=False)

    class Meta:
        model = McpTool
        fields = ("is_allowed", "needs_approval")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("is_allowed", "accepts_change"):
            self.fields[name].widget.attrs["value"] = self.instance.digest
        if not is_quarantined(self.instance):
            self.fields["accepts_change"].disabled = True
            self.fields["accepts_change"].widget.attrs["hidden"] = True
        else:
            # One field fewer for each row that has one more; its checkboxes say which definition was seen.
            self.fields[SHOWN].widget.attrs["disabled"] = True

    def full_clean(self) -> None:
        if self.is_bound and self.instance._state.adding:
            # The tool was removed since the page was shown; the other decisions must still be saved.
            self.fields["id"].disabled, self.fields["id"].required = True, False
        super().full_clean()

    @property
    def accepted(self) -> str:
        """Return the digest of the definition that this form accepts; empty if it accepts none."""
        if self.cleaned_data["accepts_change"]:
            return str(self.data[self.add_prefix("accepts_change")])
        is_new = self.cleaned_data["is_allowed"] and not self.initial.get("is_allowed")
        return str(self.data[self.add_prefix("is_allowed")]) if is_new else ""


class ToolFormSet(forms.models.BaseInlineFormSet[Any, Any, forms.ModelForm[Any]]):
    """Keeps the fields per row few: a server with the most tools allowed must fit in DATA_UPLOAD_MAX_NUMBER_FIELDS."""

    def add_fields(self, form: forms.ModelForm[Any], index: int | None) -> None:
        super().add_fields(form, index)
        form.fields[self.fk.name].disabled = True  # the page's server, which the browser does not send
