"""Tenants, their members, and the members' API keys."""

from __future__ import annotations

import re
import zoneinfo
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.fields import list_field

_DOMAIN = re.compile(r"(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z][-a-z0-9]{0,61}[a-z0-9]", re.IGNORECASE)


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def validate_timezone(name: str) -> None:
    """Raise `ValidationError` unless `name` is an IANA time zone."""
    if name not in _zone_names():
        raise ValidationError(_("“%(name)s” is not an IANA time zone such as Europe/Vienna."), params={"name": name})


def validate_domains(text: str) -> None:
    """Raise `ValidationError` unless a text is a list of host names, separated by commas or spaces."""
    for word in text.replace(",", " ").split():
        if not _DOMAIN.fullmatch(word):
            raise ValidationError(_("“%(word)s” is not a domain such as acme.com."), params={"word": word})


def validate_same_tenant(row: models.Model, tenant_id: int | None, *names: str) -> None:
    """Raise `ValidationError` for each of the named foreign keys that refers to another tenant's row."""
    named = {name: getattr(row, name) for name in names if getattr(row, f"{name}_id") is not None}
    if foreign := [name for name, other in named.items() if other.tenant_id not in (None, tenant_id)]:
        raise ValidationError(dict.fromkeys(foreign, _("This does not belong to the tenant.")))


class ChatReading(models.TextChoices):
    """Whether people who may read chats may read those of others."""

    OPEN = "open", _("Allowed")
    REASON = "reason", _("With a reason")
    OFF = "off", _("Not allowed")


class Tenant(models.Model):
    """A customer organisation."""

    slug = models.SlugField(_("slug"), max_length=63, unique=True)
    name = models.CharField(_("name"), max_length=200)
    timezone = models.CharField(_("timezone"), max_length=64, default="UTC", validators=[validate_timezone])
    is_active = models.BooleanField(
        _("active"), default=True, help_text=_("Members of an inactive tenant are refused everywhere.")
    )
    suspension_notice = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text=_("What the members of an inactive tenant read when they sign in. Empty: that it is suspended."),
    )
    default_provider = models.ForeignKey(
        "assistant.Provider",
        verbose_name=_("default provider"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("For assistants without a provider. Empty: the tenant's oldest own, else the deployment's."),
    )
    fallback_provider = models.ForeignKey(
        "assistant.Provider",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("fallback provider"),
        help_text=_(
            "Answers for assistants without a fallback of their own, when their provider is too busy, too slow or "
            "fails before anything was shown. Empty: the same provider, with the fallback model."
        ),
    )
    fallback_model = models.CharField(
        _("fallback model"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=_("Empty: the default model of the fallback provider. Both empty: there is no fallback."),
    )
    extensions = list_field(
        editable=False, help_text=_("What optional apps do in all of the tenant's runs, as people have switched it on.")
    )
    ends_runs_on_tool_failure = models.BooleanField(
        _("ends runs on tool failure"),
        default=False,
        help_text=_("An unexpected failure of a tool ends the run. Otherwise the model reads an error message."),
    )
    after_untrusted = models.CharField(
        _("tools after untrusted text"),
        max_length=3,
        choices=[("ask", _("Ask first")), ("off", _("Off")), ("on", _("No rule"))],
        default="ask",
        db_default="ask",
        help_text=_("For tools that change or send something, in a conversation that has read text from outside."),
    )
    trusts_documents = models.BooleanField(
        _("trusts its documents"),
        default=False,
        db_default=False,
        help_text=_(
            "All documents for search, later ones too, were written by people who may instruct the assistant. "
            "Otherwise each document says whether it is trusted."
        ),
    )
    shows_usage = models.BooleanField(
        _("shows tokens and cost"),
        default=False,
        db_default=False,
        help_text=_("Below each answer of the chat and of the widget."),
    )
    approvals_by_others = models.BooleanField(
        _("approvals by another person"),
        default=False,
        db_default=False,
        help_text=_("Who asked may not approve a tool call of their own; somebody else does, in the admin."),
    )
    chat_reading = models.CharField(
        _("reading other people's conversations"),
        max_length=6,
        choices=ChatReading.choices,
        default=ChatReading.OPEN,
        db_default=ChatReading.OPEN,
        help_text=_("In the admin, for everybody but the person who wrote there. Each reading is in the audit."),
    )
    email_domains = models.CharField(
        _("e-mail domains"),
        max_length=500,
        blank=True,
        default="",
        db_default="",
        validators=[validate_domains],
        help_text=_(
            "Such as acme.com, acme.co.uk. Whoever signs in for the first time by OpenID Connect with an address there "
            "becomes a member."
        ),
    )
    external_id = models.CharField(  # noqa: DJ001 - unique where it is given
        max_length=64,
        unique=True,
        null=True,
        editable=False,
        help_text=_("The primary key of the project's own tenant that this one follows (ASSISTANT_TENANTS)."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        super().clean()
        validate_same_tenant(self, self.pk, "default_provider", "fallback_provider")


class ErasedTenant(models.Model):
    """A host project's tenant whose data was deleted here, so that it is not made again while the project has it."""

    external_id = models.CharField(max_length=64, unique=True)
    erased_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.external_id


class Membership(models.Model):
    """A user's membership of a tenant, with a role."""

    class Role(models.TextChoices):
        # For pages: invitations say it.
        MEMBER = "member", _("Member")
        # For pages: too.
        ADMIN = "admin", _("Admin")
        # For pages: too.
        OWNER = "owner", _("Owner")
        # Authenticated by a widget token only, never by a session or an API key.
        END_USER = "end_user", _("End user")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="assistant_memberships"
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.MEMBER)
    custom_roles = models.ManyToManyField(
        "assistant.CustomRole",
        blank=True,
        related_name="members",
        verbose_name=_("roles of the tenant's own"),
        help_text=_("What the member may do in the control panel besides. Admins and owners may do all of it anyway."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        ordering = ["tenant__slug", "id"]
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="one_membership_per_tenant")]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant} ({self.get_role_display()})"


class ApiKey(models.Model):
    """A key that acts as one member of one tenant; only its prefix and SHA-256 hash are stored."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="assistant_api_keys"
    )
    name = models.CharField(_("name"), max_length=100)
    scopes = models.JSONField(_("scopes"), default=list, help_text=_("Such as chat, read, tools."))
    prefix = models.CharField(_("prefix"), max_length=16, editable=False)
    hashed = models.CharField(max_length=64, unique=True, editable=False)
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Empty: no limit of this key's own."),
    )
    requests_per_day = models.PositiveIntegerField(
        _("requests per day"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("From midnight UTC. Empty: no limit."),
    )
    runs_at_once = models.PositiveIntegerField(
        _("runs at once"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Empty: as many as its member may have."),
    )
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name_plural = _("API keys")
        ordering = ["-created_at"]
        verbose_name = _("API key")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class ApiKeyUse(models.Model):
    """Requests of a key with limits in its latest minute and day."""

    key = models.OneToOneField(ApiKey, on_delete=models.CASCADE, related_name="use", primary_key=True)
    minute_at = models.DateTimeField()
    minute_count = models.PositiveIntegerField(default=0)
    day_at = models.DateTimeField()
    day_count = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("API key use")
        verbose_name_plural = _("API key uses")

    def __str__(self) -> str:
        return f"{self.minute_count} in the minute, {self.day_count} in the day"
