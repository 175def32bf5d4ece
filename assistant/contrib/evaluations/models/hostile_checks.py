"""Checks of assistants with hostile questions: a tenant's own checks, the runs of checks, and their results."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.tenants import Tenant, validate_same_tenant

MAX_QUESTION, MAX_PLANTED, MAX_FORBIDDEN = 4_000, 8_000, 300
# Checks of a tenant's own.
MAX_OWN_CHECKS = 100
_FORBIDDEN = ("forbidden_tool", "forbidden_text", "forbidden_value")


class HostileCheck(models.Model):
    """A tenant's own check: a question, a result that a tool is made to return, and what must not happen."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    assistant = models.ForeignKey(
        Assistant,
        verbose_name=_("assistant"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("Empty: for all assistants of the tenant."),
    )
    name = models.CharField(_("name"), max_length=100)
    question = models.TextField(_("question"), max_length=MAX_QUESTION, help_text=_("What the assistant is asked."))
    planted_tool = models.CharField(
        _("planted in"),
        max_length=128,
        blank=True,
        default="",
        help_text=_("The name of a tool whose result is replaced. Other tools are not run."),
    )
    planted_result = models.TextField(
        _("planted result"),
        max_length=MAX_PLANTED,
        blank=True,
        default="",
        help_text=_("What the assistant reads as the result of this tool."),
    )
    forbidden_tool = models.CharField(
        _("tool that must not be called"), max_length=128, blank=True, default="", help_text=_("Its name.")
    )
    forbidden_text = models.CharField(
        _("text that must not be said"),
        max_length=MAX_FORBIDDEN,
        blank=True,
        default="",
        help_text=_("A part of the answer; upper and lower case count as the same."),
    )
    forbidden_value = models.CharField(
        _("value that must not be sent"),
        max_length=MAX_FORBIDDEN,
        blank=True,
        default="",
        help_text=_("A part of an argument of any tool; upper and lower case count as the same."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant", "name"]
        verbose_name = _("own hostile check")
        verbose_name_plural = _("own hostile checks")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="hostile_check_name_per_tenant")]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        super().clean()
        if self.tenant_id is not None:
            validate_same_tenant(self, self.tenant_id, "assistant")
        if not any(getattr(self, name) for name in _FORBIDDEN):
            raise ValidationError(_("Say what must not happen: a tool, a text or a value."))
        if bool(self.planted_tool) != bool(self.planted_result):
            raise ValidationError({"planted_result": _("A planted result needs its tool, and the tool its result.")})


class HostileCheckRun(models.Model):
    """The checks of an assistant at one moment: who began them, with which configuration, and what came out.

    While they are under way a job of it waits, whose moment the process at work renews.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Stopped")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    assistant = models.ForeignKey(Assistant, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.WAITING)
    problem = models.CharField(
        _("problem"), max_length=300, blank=True, default="", help_text=_("Why not all checks were made.")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Who began it. Empty: a command."),
    )
    run_as = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("run as"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("The member in whose name the questions are asked."),
    )
    configuration = models.JSONField(
        default=dict, help_text=_("The prompt's version, the model, and the tools with their rules.")
    )
    passed = models.PositiveIntegerField(_("passed"), default=0)
    failed = models.PositiveIntegerField(_("failed"), default=0)
    undecided = models.PositiveIntegerField(_("undecided"), default=0, help_text=_("With an error, or not decided."))
    cost = models.BigIntegerField(default=0, help_text=_("In millionths of the currency's unit."))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    started_at = models.DateTimeField(_("started at"), null=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = _("run of hostile checks")
        verbose_name_plural = _("runs of hostile checks")
        constraints = [
            models.UniqueConstraint(
                fields=["assistant"],
                condition=Q(state__in=["waiting", "running"]),
                name="one_hostile_check_run_under_way_per_assistant",
            )
        ]
        indexes = [models.Index(fields=["assistant", "-created_at"], name="hostile_runs_of_assistant")]

    def __str__(self) -> str:
        return f"{self.assistant.slug} {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def is_under_way(self) -> bool:
        return self.state in UNDER_WAY


UNDER_WAY = (HostileCheckRun.State.WAITING, HostileCheckRun.State.RUNNING)


class HostileCheckResult(models.Model):
    """The result of one check, with the evidence: the calls with their arguments, and the answer."""

    class Outcome(models.TextChoices):
        PASSED = "passed", _("Passed")
        FAILED = "failed", _("Failed")
        ERROR = "error", _("Error")
        SKIPPED = "skipped", _("Not decided")

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(HostileCheckRun, on_delete=models.CASCADE, related_name="results")
    position = models.PositiveIntegerField()
    key = models.CharField(
        max_length=60, help_text=_("Of a shipped check its name; own-1 of the tenant's with the id 1.")
    )
    kind = models.CharField(max_length=40)
    name = models.CharField(max_length=100)
    question = models.TextField(max_length=MAX_QUESTION)
    planted_tool = models.CharField(max_length=128, blank=True, default="")
    planted_result = models.TextField(max_length=MAX_PLANTED, blank=True, default="")
    outcome = models.CharField(max_length=7, choices=Outcome.choices)
    reason = models.CharField(max_length=500, blank=True, default="")
    answer = models.TextField(blank=True, default="")
    calls = models.JSONField(default=list, help_text=_("Tool calls: name, arguments, status, rule, whether it asks."))
    model = models.CharField(max_length=200, blank=True, default="")
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.BigIntegerField(default=0, help_text=_("In millionths of the currency's unit."))
    milliseconds = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["run", "position"]
        verbose_name = _("result of a hostile check")
        verbose_name_plural = _("results of hostile checks")
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="one_result_per_hostile_check")]

    def __str__(self) -> str:
        return f"{self.key}: {self.get_outcome_display()}"
