"""Questions that an assistant is asked at moments, in a member's name, and each time that it was."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.fields import sources_field
from assistant.models.tenants import ApiKey, Tenant, validate_timezone


class Schedule(models.Model):
    """A question that an assistant is asked once, or again and again, with the permissions and limits of a member."""

    class State(models.TextChoices):
        ON = "on", _("On")
        PAUSED = "paused", _("Paused")
        STOPPED = "stopped", _("Stopped")
        DONE = "done", _("Over")

    class Missed(models.TextChoices):
        RUN = "run", _("Ask once, late")
        SKIP = "skip", _("Skip")

    class Delivery(models.TextChoices):
        CONVERSATION = "conversation", _("A conversation")
        EMAIL = "email", _("A conversation, and an e-mail")
        WEBHOOK = "webhook", _("A conversation, and the event schedule.finished")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    assistant = models.ForeignKey(Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="+")
    api_key = models.ForeignKey(
        ApiKey,
        null=True,
        editable=False,
        on_delete=models.CASCADE,
        db_index=False,
        related_name="+",
        help_text=_("The member's API key that it was made with, and asks with. Empty: none."),
    )
    name = models.CharField(_("name"), max_length=100)
    prompt = models.TextField(_("question"), max_length=4000)
    sources = sources_field(
        editable=False,
        help_text=_("Where the untrusted text came from that the model had read when it wrote the question."),
    )
    cron = models.CharField(
        _("cron line"), max_length=100, blank=True, help_text=_("Such as 0 9 * * 1: Mondays at 9. Empty: once.")
    )
    at = models.DateTimeField(_("moment"), null=True, blank=True, help_text=_("Of one that is asked once."))
    timezone = models.CharField(_("time zone"), max_length=64, validators=[validate_timezone])
    ends_at = models.DateTimeField(_("end"), null=True, blank=True, help_text=_("Required with a cron line."))
    budget = models.PositiveBigIntegerField(
        _("budget"),
        null=True,
        blank=True,
        help_text=_("What all its answers may cost together, in millionths of the currency."),
    )
    missed = models.CharField(
        _("if missed"), max_length=4, choices=Missed.choices, default=Missed.RUN, db_default=Missed.RUN
    )
    delivery = models.CharField(
        _("delivery"),
        max_length=12,
        choices=Delivery.choices,
        default=Delivery.CONVERSATION,
        db_default=Delivery.CONVERSATION,
    )
    state = models.CharField(_("state"), max_length=7, choices=State.choices, default=State.ON, db_default=State.ON)
    reason = models.CharField(_("why it has stopped"), max_length=200, blank=True, default="", db_default="")
    next_at = models.DateTimeField(_("next"), null=True, editable=False)
    idempotency_key = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("The idempotency key of the tool call that made it."),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="one_schedule_per_call",
            )
        ]

    def __str__(self) -> str:
        return self.name


class ScheduleRun(models.Model):
    """One moment of a schedule, at which its question was asked, or why it was not."""

    class State(models.TextChoices):
        RUNNING = "running", _("Under way")
        FINISHED = "finished", _("Answered")
        FAILED = "failed", _("Failed")
        SKIPPED = "skipped", _("Skipped")

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs")
    due_at = models.DateTimeField(_("due"))
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.RUNNING)
    conversation_id = models.UUIDField(
        null=True, help_text=_("Where it was asked; its member may have deleted it since.")
    )
    run_id = models.CharField(_("run id"), max_length=200, blank=True)
    problem = models.CharField(_("problem"), max_length=300, blank=True)
    cost = models.PositiveBigIntegerField(
        _("cost"), default=0, db_default=0, help_text=_("In millionths of the currency.")
    )
    mail_tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    delivered_at = models.DateTimeField(_("delivered at"), null=True, help_text=_("When its e-mail was sent."))
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name = _("schedule run")
        verbose_name_plural = _("schedule runs")
        ordering = ["-due_at", "-pk"]
        constraints = [models.UniqueConstraint(fields=["schedule", "due_at"], name="one_run_per_due_moment")]

    def __str__(self) -> str:
        return f"{self.schedule_id} at {self.due_at:%Y-%m-%d %H:%M} UTC"
