"""External MCP servers, the credentials for them, and the operators' decision on each of their tools."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.models.fields import AddressField, EncryptedTextField
from assistant.models.tenants import Tenant
from assistant.toolkit.context import UserId


class Credentials(models.Model):
    """HTTP headers or an OAuth client, with the secrets encrypted at rest, and a circuit breaker.

    The breaker counts consecutive `failures`; no request is made with the credentials before `rests_until`.
    """

    headers = EncryptedTextField(blank=True, help_text=_("A JSON object of HTTP headers, encrypted at rest."))
    oauth_client_id = models.CharField(_("OAuth client id"), max_length=200, blank=True)
    oauth_client_secret = EncryptedTextField(_("OAuth client secret"), blank=True)
    failures = models.PositiveIntegerField(default=0, editable=False)
    rests_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        abstract = True


class McpServer(Credentials):
    """An external MCP server whose tools a tenant can allow."""

    class CredentialOwner(models.TextChoices):
        TENANT = "tenant", _("The tenant's, for all members")
        USER = "user", _("Each member's own")

    class Health(models.TextChoices):
        UNKNOWN = "unknown", _("Not asked yet")
        UP = "up", _("Answers")
        DOWN = "down", _("Does not answer")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="mcp_servers")
    name = models.SlugField(_("name"), max_length=40)
    prefix = models.SlugField(_("prefix"), max_length=24, help_text=_("Its tools are called prefix__name."))
    url = AddressField(_("URL"), max_length=500, blank=True)
    command = models.CharField(
        _("command"),
        max_length=60,
        blank=True,
        help_text=_("In place of a URL: one of the deployment's ASSISTANT_MCP_STDIO_COMMANDS."),
    )
    credentials_of = models.CharField(
        _("credentials"),
        max_length=10,
        choices=CredentialOwner.choices,
        default=CredentialOwner.TENANT,
        help_text=_("Whose credentials are sent to the server."),
    )
    oauth_issuer = AddressField(
        _("OAuth issuer"),
        max_length=500,
        blank=True,
        help_text=_("The authorization server of the OAuth client, the only server that its secret is sent to."),
    )
    oauth_scope = models.CharField(_("OAuth scope"), max_length=500, blank=True)
    context_keys = models.JSONField(
        _("context"), default=list, blank=True, help_text=_("Which parts of a call's context are sent to the server.")
    )
    asks_people = models.BooleanField(
        _("may ask people"),
        default=False,
        db_default=False,
        help_text=_("Its tools may ask the people who chat, in a form, and it receives their answers (elicitation)."),
    )
    timeout_seconds = models.PositiveIntegerField(
        _("timeout seconds"),
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(240)],
        help_text=_("For one call of a tool."),
    )
    is_active = models.BooleanField(_("active"), default=False)
    health = models.CharField(
        _("health"), max_length=10, choices=Health.choices, default=Health.UNKNOWN, editable=False
    )
    health_detail = models.CharField(max_length=500, blank=True, editable=False)
    left_out = models.JSONField(
        _("left out"),
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text=_("Listed tools that cannot be used, with the reasons."),
    )
    checked_at = models.DateTimeField(_("checked at"), null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant", "name"]
        verbose_name = _("MCP server")
        verbose_name_plural = _("MCP servers")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="mcp_server_name_per_tenant"),
            models.UniqueConstraint(fields=["tenant", "prefix"], name="mcp_server_prefix_per_tenant"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the server; an empty prefix, which the admin does not allow, is derived from the name."""
        if not self.prefix:
            self.prefix = tool_prefix(self.name)
        super().save(*args, **kwargs)


def tool_prefix(name: str) -> str:
    """Return a prefix for tool names from a server's name: lower-case letters and digits, separated by single -."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    prefix = "-".join(words)[:24].rstrip("-") or "mcp"
    # Names of assistants as tools begin with `ask_`.
    return f"mcp-{prefix}"[:24] if prefix == "ask" else prefix


class McpCredentialQuerySet(models.QuerySet["McpCredential"]):
    """Queries for members' credentials."""

    def of_member(self, user_id: UserId) -> McpCredentialQuerySet:
        """Return a user's credentials for servers of the tenants that they are a member of."""
        return self.filter(user_id=user_id, user__assistant_memberships__tenant_id=models.F("server__tenant_id"))


class McpCredential(Credentials):
    """One member's credentials for a server whose members each use their own."""

    server = models.ForeignKey(
        McpServer, verbose_name=_("server"), on_delete=models.CASCADE, related_name="members_credentials"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )

    objects = McpCredentialQuerySet.as_manager()

    class Meta:
        ordering = ["server", "user"]
        verbose_name = _("MCP credential")
        verbose_name_plural = _("MCP credentials")
        constraints = [models.UniqueConstraint(fields=["server", "user"], name="one_mcp_credential_per_member")]

    def __str__(self) -> str:
        return gettext("%(server)s for %(user)s") % {"server": self.server, "user": self.user}


class McpTool(models.Model):
    """A tool that a server lists: its current definition, and the one that an operator accepted."""

    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=128, editable=False)
    definition = models.JSONField(editable=False)
    digest = models.CharField(max_length=64, editable=False)
    accepted = models.JSONField(null=True, editable=False)
    accepted_digest = models.CharField(max_length=64, blank=True, editable=False)
    is_allowed = models.BooleanField(_("allowed"), default=False)
    needs_approval = models.BooleanField(_("ask first"), default=True)
    is_listed = models.BooleanField(default=True, editable=False)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["server", "name"]
        verbose_name = _("MCP tool")
        verbose_name_plural = _("MCP tools")
        constraints = [models.UniqueConstraint(fields=["server", "name"], name="mcp_tool_name_per_server")]

    def __str__(self) -> str:
        return self.name
