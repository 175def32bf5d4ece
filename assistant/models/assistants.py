"""Providers and assistants."""

from __future__ import annotations

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.core.values.wire_formats import CHAT_COMPLETIONS
from assistant.models.fields import AddressField, EncryptedTextField, OnDisconnect, WhenBusy, list_field
from assistant.models.tenants import Tenant, validate_same_tenant
from assistant.providers import FORMATS
from assistant.providers.profiles.choice import KINDS

ADDRESS_HELP = _("Up to and including /v1. For Anthropic Messages and Google Gemini also without it.")


# The extensions that new assistants have: those of optional apps that say so.
EXTENSIONS_OF_NEW_ASSISTANTS: list[str] = []


def extensions_of_new_assistants() -> list[str]:
    """Return the default of `Assistant.extensions`."""
    return list(EXTENSIONS_OF_NEW_ASSISTANTS)


def provider_kinds() -> list[tuple[str, str]]:
    """Return the choices of `Provider.kind`; a function, so that another kind needs no migration."""
    return [(kind, kind) for kind in KINDS]


def wire_formats() -> list[tuple[str, str]]:
    """Return the choices of `Provider.wire_format`; a function, so that another format needs no migration."""
    return [(name, wire.label) for name, wire in FORMATS.items()]


class Provider(models.Model):
    """A server with language models; one without a tenant can be used by every tenant."""

    tenant = models.ForeignKey(
        Tenant,
        verbose_name=_("tenant"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="providers",
        help_text=_("Empty: for all."),
    )
    name = models.CharField(_("name"), max_length=100)
    wire_format = models.CharField(
        _("wire format"),
        max_length=30,
        default=CHAT_COMPLETIONS,
        db_default=CHAT_COMPLETIONS,
        choices=wire_formats,
        help_text=_("Most servers speak Chat Completions, beside or instead of a format of their own."),
    )
    base_url = AddressField(_("base URL"), max_length=500, help_text=ADDRESS_HELP)
    api_key = EncryptedTextField(_("API key"), blank=True)
    default_model = models.CharField(_("default model"), max_length=200)
    is_strict = models.BooleanField(
        _("strict schemas"),
        default=False,
        help_text=_("The server guarantees that tool arguments follow their schema (strict mode)."),
    )
    sees_images = models.BooleanField(
        _("sees images"),
        default=False,
        help_text=_("Send images that tools return to the model. Otherwise it reads only their names."),
    )
    reads_pdfs = models.BooleanField(
        _("reads PDFs"),
        default=False,
        db_default=False,
        help_text=_(
            "Send PDFs that people attach as files, which the model reads with their pictures. Otherwise it gets "
            "their text."
        ),
    )
    prices = models.JSONField(
        _("prices"),
        default=dict,
        blank=True,
        help_text=_(
            'What a million tokens cost, by the model\'s name or its beginning: {"gpt-4.1": {"input": 2, '
            '"output": 8, "cached_input": 0.5}}; also "cache_write". Empty: costs are not computed.'
        ),
    )
    is_untested = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text=_("It answers only where it was chosen, until it is tested or put into use."),
    )
    is_small = models.BooleanField(
        _("small model"),
        default=False,
        help_text=_("Shows the model worked examples of each tool before the conversation."),
    )
    kind = models.CharField(
        _("kind"),
        max_length=30,
        blank=True,
        default="",
        db_default="",
        choices=provider_kinds,
        help_text=_("What the server takes and gives differs by kind. Empty: guessed from the address and the model."),
    )
    extra_body = models.JSONField(
        _("further options"),
        default=dict,
        blank=True,
        db_default=models.Value({}, models.JSONField()),
        help_text=_('Sent with each request, as the provider names them: {"reasoning_effort": "low"}.'),
    )
    refused_tools = models.JSONField(
        _("refused tools"),
        default=dict,
        blank=True,
        db_default=models.Value({}, models.JSONField()),
        editable=False,
        help_text=_("Tools that it has refused, by a hash of their definition; those that were found are not offered."),
    )

    class Meta:
        verbose_name = _("provider")
        verbose_name_plural = _("providers")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="provider_name_per_tenant"),
            models.UniqueConstraint(fields=["name"], condition=Q(tenant=None), name="provider_name_of_deployment"),
        ]

    def __str__(self) -> str:
        return self.name


class Assistant(models.Model):
    """A tenant's configured agent: its prompt, model, tools and limits."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="assistants")
    slug = models.SlugField(_("slug"), max_length=63)
    name = models.CharField(_("name"), max_length=200)
    description = models.CharField(_("description"), max_length=500, blank=True)
    provider = models.ForeignKey(
        Provider,
        verbose_name=_("provider"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="assistants",
        help_text=_("Empty: the tenant's."),
    )
    model = models.CharField(
        _("model"), max_length=200, blank=True, help_text=_("Empty: the provider's default model.")
    )
    fallback_provider = models.ForeignKey(
        Provider,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("fallback provider"),
        help_text=_(
            "Answers when the provider is too busy, too slow or fails before anything was shown. Empty, and no "
            "fallback model: the tenant's fallback. Empty, with a fallback model: that model of the same provider."
        ),
    )
    fallback_model = models.CharField(
        _("fallback model"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=_("Empty: the default model of the fallback provider."),
    )
    other_models = list_field(
        verbose_name=_("other models"),
        help_text=_("Models of the same provider that people may choose for another answer: a list of names."),
    )
    temperature = models.FloatField(
        _("temperature"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0), MaxValueValidator(2.0)],
        help_text=_("Empty: the model's own."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    greeting = models.CharField(
        _("greeting"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "What an empty conversation begins with, in the chat and in the widget. Empty: the tenant's greeting."
        ),
    )
    starters = models.JSONField(
        _("starters"), default=list, blank=True, help_text=_("Starter prompts the chat offers: a list of texts.")
    )
    translations = models.JSONField(
        _("translations"),
        default=dict,
        db_default={},
        blank=True,
        help_text=_("Greeting, starters and notice by language."),
    )
    extensions = list_field(
        default=extensions_of_new_assistants,
        verbose_name=_("additions"),
        help_text=_("What optional apps do in this assistant's runs."),
    )
    when_busy = models.CharField(
        _("a message during an answer"),
        max_length=7,
        choices=WhenBusy.choices,
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "What happens to a message that comes while another one is being answered, unless the client says it. "
            "Empty: it takes the place of the same caller's in AG-UI over HTTP, and is refused elsewhere."
        ),
    )
    on_disconnect = models.CharField(
        _("after a lost connection"),
        max_length=8,
        choices=OnDisconnect.choices,
        default=OnDisconnect.CONTINUE,
        db_default=OnDisconnect.CONTINUE,
        help_text=_("What happens to an answer whose client has disconnected, unless the client says it."),
    )
    takes_context = models.BooleanField(
        _("context of the page"),
        default=True,
        db_default=True,
        help_text=_("The model reads what AG-UI's clients send as context and state, marked as data of the page."),
    )
    max_rounds = models.PositiveIntegerField(
        _("max rounds"), default=20, help_text=_("Model calls in one run. 0: no limit.")
    )
    max_tool_calls = models.PositiveIntegerField(
        _("max tool calls"), default=150, help_text=_("Tool calls in one run. 0: no limit.")
    )
    max_calls_per_tool = models.PositiveIntegerField(
        _("max calls of one tool"), default=40, help_text=_("Calls of one tool in one run. 0: no limit.")
    )
    max_tokens = models.PositiveIntegerField(
        _("max tokens"), default=0, help_text=_("Tokens in one run, in and out. 0: no limit.")
    )
    max_cost = models.DecimalField(
        _("max cost"),
        max_digits=12,
        decimal_places=4,
        default=Decimal(0),
        validators=[MinValueValidator(Decimal(0))],
        help_text=_("Cost of one run, by the providers' prices. 0: no limit."),
    )
    max_seconds = models.PositiveIntegerField(
        _("max seconds"), default=300, help_text=_("Seconds for one run. 0: no limit.")
    )
    history_tokens = models.PositiveIntegerField(
        _("history tokens"), default=24_000, help_text=_("Tokens of the conversation sent to the model.")
    )
    history_messages = models.PositiveIntegerField(
        _("history messages"),
        default=0,
        help_text=_("Messages of the conversation sent to the model, including calls and results. 0: no limit."),
    )
    answer_schema = models.JSONField(
        _("answer schema"),
        null=True,
        blank=True,
        help_text=_("A JSON Schema of an object that every answer must match. Empty: answers are text."),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("assistant")
        verbose_name_plural = _("assistants")
        ordering = ["tenant__slug", "slug"]
        constraints = [models.UniqueConstraint(fields=["tenant", "slug"], name="assistant_slug_per_tenant")]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        super().clean()
        validate_same_tenant(self, self.tenant_id, "provider", "fallback_provider")
