"""What people may do in a tenant, by roles of its own, and what they have set for themselves."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant

# What a custom role can allow; each is a column of `CustomRole`.
PERMISSIONS = ("tools", "prompts", "read_chats", "approvals", "spend", "keys", "people")


class CustomRole(models.Model):
    """A set of permissions of the control panel, which members hold besides their role in the tenant."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="custom_roles")
    name = models.CharField(_("name"), max_length=100)
    tools = models.BooleanField(_("tools"), default=False, help_text=_("Switch tools, and set their settings."))
    prompts = models.BooleanField(_("prompts"), default=False, help_text=_("Write and publish prompts."))
    read_chats = models.BooleanField(
        _("read chats"), default=False, help_text=_("Read other people's conversations, runs and tool calls.")
    )
    approvals = models.BooleanField(_("approvals"), default=False, help_text=_("Answer the calls that wait."))
    spend = models.BooleanField(_("spend"), default=False, help_text=_("See what is used, by whom, and the limits."))
    keys = models.BooleanField(
        _("keys"), default=False, help_text=_("Make API keys for oneself; limit and revoke those of all.")
    )
    people = models.BooleanField(
        _("people"), default=False, help_text=_("Add and remove members, and give them roles.")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        ordering = ["tenant__slug", "name"]
        verbose_name = _("role")
        verbose_name_plural = _("roles")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="custom_role_name_per_tenant")]

    def __str__(self) -> str:
        return self.name

    @property
    def permissions(self) -> frozenset[str]:
        """The names of the permissions that the role gives."""
        return frozenset(name for name in PERMISSIONS if getattr(self, name))


class PersonSettings(models.Model):
    """What a person has set for all pages. A row of no tenant; without one, and where empty, the browser decides."""

    class Theme(models.TextChoices):
        SYSTEM = "system", _("As the device")
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="assistant_settings"
    )
    # For pages: the page of one's own settings shows it.
    name = models.CharField(_("name"), max_length=100, blank=True)
    language = models.CharField(_("language"), max_length=20, blank=True)
    # For pages: too.
    theme = models.CharField(_("appearance"), max_length=6, choices=Theme.choices, default=Theme.SYSTEM)

    class Meta:
        verbose_name = _("own settings of a person")
        verbose_name_plural = _("own settings of people")

    def __str__(self) -> str:
        return str(self.user_id)
