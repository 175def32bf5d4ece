"""Change sets, what they have changed of tenants, and the labels of tenants that a set can be given to."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models import Assistant, Tenant
from assistant.models.toolblocks import MAX_REASON

MAX_LABEL = 40
EVERYTHING = 100
# Answers after which a set may be taken back by itself: fewer say little.
MIN_WATCHED = 20
MAX_WATCHED = 5_000


class TenantLabel(models.Model):
    """A word that operators give to tenants, such as `pilot`, by which a change set finds them."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    label = models.CharField(
        _("label"),
        max_length=MAX_LABEL,
        validators=[RegexValidator(r"\A[a-z0-9][a-z0-9_-]*\Z", _("Lower-case letters, digits, - and _."))],
        help_text=_("Such as pilot. A change set can be given to all tenants with a label."),
    )

    class Meta:
        verbose_name = _("label of a tenant")
        verbose_name_plural = _("labels of tenants")
        ordering = ["label", "tenant__slug"]
        constraints = [models.UniqueConstraint(fields=["label", "tenant"], name="one_label_per_tenant")]

    def __str__(self) -> str:
        return self.label


class ChangeSet(models.Model):
    """Changes that tenants get together: a draft until it begins, and taken back as a whole.

    `items` are as `services.items.read_items` reads them.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        WAITING = "waiting", _("Waits for approval")
        PLANNED = "planned", _("Planned")
        ON = "on", _("On")
        ENDED = "ended", _("Taken back")

    class Whom(models.TextChoices):
        TENANT = "tenant", _("One tenant")
        LABEL = "label", _("Tenants with a label")
        ALL = "all", _("Every tenant")

    name = models.CharField(_("name"), max_length=100)
    reason = models.CharField(
        _("reason"),
        max_length=MAX_REASON,
        help_text=_("Why things change. Members and the model read it where a tool is switched off."),
    )
    whom = models.CharField(_("given to"), max_length=6, choices=Whom.choices, default=Whom.TENANT)
    tenant = models.ForeignKey(
        Tenant,
        verbose_name=_("tenant"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("For one tenant."),
    )
    label = models.CharField(
        _("label"), max_length=MAX_LABEL, blank=True, default="", help_text=_("For tenants with a label.")
    )
    percent = models.PositiveSmallIntegerField(
        _("share of conversations (%)"),
        default=EVERYTHING,
        validators=[MinValueValidator(1), MaxValueValidator(EVERYTHING)],
        help_text=_("Below 100 a conversation has the changes from its first answer to its last, or never."),
    )
    starts_at = models.DateTimeField(
        _("from"), null=True, blank=True, help_text=_("Empty: as soon as somebody starts it.")
    )
    ends_at = models.DateTimeField(
        _("until"), null=True, blank=True, help_text=_("Then it is taken back by itself. Empty: it stays.")
    )
    watched_answers = models.PositiveIntegerField(
        _("watched after answers"),
        null=True,
        blank=True,
        validators=[MinValueValidator(MIN_WATCHED), MaxValueValidator(MAX_WATCHED)],
        help_text=_(
            "From so many answers on the set is taken back by itself, if more of them fail, are disliked or stopped "
            "than without it. Empty: only people take it back."
        ),
    )
    watched_points = models.PositiveSmallIntegerField(
        _("worse by points (%)"),
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(EVERYTHING)],
        help_text=_("Such as 5: from 2 % to 7 %."),
    )
    items = models.JSONField(_("changes"), default=list, blank=True, editable=False)
    state = models.CharField(_("state"), max_length=7, choices=State.choices, default=State.DRAFT, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("submitted by"),
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("approved by"),
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    began_at = models.DateTimeField(_("began at"), null=True, editable=False)
    ended_at = models.DateTimeField(_("ended at"), null=True, editable=False)
    note = models.CharField(
        _("note"), max_length=200, blank=True, default="", editable=False, help_text=_("What happened to it last.")
    )

    class Meta:
        verbose_name = _("change set")
        verbose_name_plural = _("change sets")
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["state"], condition=Q(state__in=["planned", "on"]), name="change_sets_under_way")
        ]

    def __str__(self) -> str:
        return self.name


class AppliedChange(models.Model):
    """What a change set has changed of a tenant: the value before, and the one that it set.

    Below 100 `percent` nothing of the tenant's own rows is changed: runs read this row (`rollout`).
    """

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    change_set = models.ForeignKey(
        ChangeSet, verbose_name=_("change set"), on_delete=models.CASCADE, related_name="applied"
    )
    assistant = models.ForeignKey(
        Assistant, verbose_name=_("assistant"), null=True, on_delete=models.CASCADE, related_name="+"
    )
    kind = models.CharField(_("kind"), max_length=8)
    name = models.CharField(_("name"), max_length=64, blank=True, default="")
    before = models.JSONField(_("before"), null=True)
    after = models.JSONField(_("after"), null=True)
    percent = models.PositiveSmallIntegerField(_("share of conversations (%)"), default=EVERYTHING)
    is_in_force = models.BooleanField(_("in force"), default=True)
    was_left = models.BooleanField(
        _("was left"), default=False, help_text=_("Somebody has changed it since, so it was not taken back.")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name = _("applied change")
        verbose_name_plural = _("applied changes")
        ordering = ["change_set", "tenant", "pk"]
        indexes = [
            models.Index(
                fields=["tenant"], condition=Q(is_in_force=True, percent__lt=EVERYTHING), name="changes_of_a_share"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()
