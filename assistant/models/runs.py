"""Runs, and the audit of every tool call."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Assistant
from assistant.models.conversations import Conversation
from assistant.models.fields import list_field, sources_field
from assistant.models.tenants import ApiKey, Tenant


def _text(max_length: int, help_text: Any, **options: Any) -> models.CharField[str, str]:
    return models.CharField(
        max_length=max_length, blank=True, default="", db_default="", help_text=help_text, **options
    )


class Run(models.Model):
    """One user turn, from the user's message to the end of the answer.

    A `queued` run waits for its turn, by primary key within its tenant. Any process may start one that is shared, once
    it has a checkpoint. An active run with an expired lease lost its process.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        FINISHED = "finished", _("Finished")
        WAITING = "waiting", _("Waiting")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")
        INTERRUPTED = "interrupted", _("Interrupted")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="runs")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="runs")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="assistant_runs")
    assistant = models.ForeignKey(Assistant, verbose_name=_("assistant"), on_delete=models.CASCADE, related_name="runs")
    api_key = models.ForeignKey(
        ApiKey,
        verbose_name=_("api key"),
        null=True,
        on_delete=models.SET_NULL,
        db_index=False,
        related_name="+",
        help_text=_("The member's API key that it was started with. Empty: none, or an end user's token."),
    )
    run_id = models.CharField(
        _("run id"), max_length=200, help_text=_("The client's id of it; unique within its conversation.")
    )
    continues = _text(
        200,
        _("The id under which its client knows it, if that names the run whose interrupts it answers as well."),
        verbose_name=_("continues"),
    )
    answers = _text(64, _("The digest of the answers to interrupts that it began with. Empty: it began with none."))
    follows = _text(200, _("The id of the run that its client says it follows."), verbose_name=_("follows"))
    number = models.PositiveIntegerField(_("number"), help_text=_("Counts the runs of a conversation from 1."))
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.RUNNING)
    prompt_version = models.ForeignKey(
        "assistant.PromptVersion",
        verbose_name=_("prompt version"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    is_test = models.BooleanField(
        _("test"),
        default=False,
        db_default=False,
        help_text=_("It tests a prompt, and is not counted among the tenant's runs."),
    )
    provider_name = models.CharField(_("provider name"), max_length=100, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    replaced_model = _text(
        310,
        _(
            "The provider and model in whose place this one answered, since the tenant's soft threshold of "
            "cost was reached. Empty: none."
        ),
        verbose_name=_("replaced model"),
    )
    fallback_provider = models.CharField(_("fallback provider"), max_length=100, blank=True, default="", db_default="")
    fallback_model = _text(
        200,
        _("The model that took over because the first could not answer. Empty: none."),
        verbose_name=_("fallback model"),
    )
    configuration = _text(64, _("The digest of the `RunConfiguration` that it ran with. Empty: not known."))
    timeline = models.JSONField(
        null=True, help_text=_("When the model was asked and tools ran: numbers and names, never texts or values.")
    )
    passages = models.JSONField(
        null=True, editable=False, help_text=_("Passages of attached documents that its answer stands on. Empty: none.")
    )
    error_code = models.CharField(_("error code"), max_length=40, blank=True)
    error_message = models.TextField(_("error message"), blank=True)
    ending = models.JSONField(null=True, help_text=_("The run's last event, as clients saw it."))
    input_tokens = models.PositiveIntegerField(_("input tokens"), default=0)
    output_tokens = models.PositiveIntegerField(_("output tokens"), default=0)
    first_token_ms = models.PositiveIntegerField(
        _("first token (ms)"),
        null=True,
        help_text=_("From the start until the model's first token. Empty: there was none."),
    )
    reserved_tokens = models.PositiveIntegerField(
        default=0, help_text=_("Tokens reserved in quotas while it runs. 0: none.")
    )
    reserved_cost = models.PositiveBigIntegerField(default=0)
    is_shared = models.BooleanField(default=False, db_default=False, editable=False)
    partial = models.JSONField(null=True, help_text=_("The checkpoint of a running answer."))
    client_input = models.JSONField(
        null=True, editable=False, help_text=_("While it runs: what its client gave with it.")
    )
    resumes = list_field(
        editable=False, help_text=_("When other processes went on with it: time, step, if handed over.")
    )
    checkpoint_seq = models.PositiveIntegerField(default=0, help_text=_("The last event in the checkpoint."))
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(_("lease until"), null=True)
    cancel_requested_at = models.DateTimeField(_("cancel requested at"), null=True)
    started_at = models.DateTimeField(_("started at"), auto_now_add=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["-started_at"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "run_id"], name="run_id_per_conversation"),
            models.UniqueConstraint(fields=["conversation", "number"], name="run_number_per_conversation"),
            models.UniqueConstraint(
                fields=["conversation"], condition=Q(status="running"), name="one_running_run_per_conversation"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "-started_at"], name="runs_of_a_tenant"),
            # For the operators' list of all tenants' runs.
            models.Index(fields=["-started_at"], name="runs_by_age"),
            # Not by `status`: SQLite uses a partial index only where a query's condition is the same, without lists.
            models.Index(fields=["tenant", "user"], condition=Q(ended_at=None), name="active_runs_of_a_tenant"),
            # For the page of a key. Without active runs, or SQLite would count these with it and read the ended ones.
            models.Index(
                fields=["api_key", "-started_at"],
                condition=Q(api_key__isnull=False, ended_at__isnull=False),
                name="runs_of_an_api_key",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} ({self.get_status_display()})"

    @property
    def shown_id(self) -> str:
        """AG-UI's runId, as its client wrote it."""
        return self.continues or self.run_id

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended: a process works on it, or it waits for its turn."""
        return self.status in ACTIVE

    @property
    def is_fresh(self) -> bool:
        """Whether the run has not ended and has not stored anything yet."""
        return self.is_active and self.checkpoint_seq == 0


class RunConfiguration(models.Model):
    """What runs of a tenant were configured with: provider, model, limits, and every tool with its rule.

    Stored once for all runs that had the same; a run names it by its digest, so that the end of a run never fails
    because of it. The prompt is not part of it: a run names its version.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="run_configurations")
    digest = models.CharField(max_length=64)
    content = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(help_text=_("About when the latest run with it ended, to the hour."))

    class Meta:
        verbose_name = _("configuration of a run")
        verbose_name_plural = _("configurations of runs")
        ordering = ["-used_at"]
        constraints = [models.UniqueConstraint(fields=["tenant", "digest"], name="one_row_per_configuration")]

    def __str__(self) -> str:
        return self.digest[:12]


# Of runs that have not ended. With `ended_at`, because SQLite uses the index of active runs only for that.
ACTIVE = (Run.Status.QUEUED, Run.Status.RUNNING)
IS_ACTIVE = Q(status__in=ACTIVE, ended_at=None)


class ToolCall(models.Model):
    """The audit of one tool call: who decided, which tool ran with which arguments, and the outcome."""

    class Status(models.TextChoices):
        RUNNING = "running", _("Running")
        OK = "ok", _("Done")
        ERROR = "error", _("Failed")
        UNKNOWN = "unknown", _("Outcome unknown")
        TIMEOUT = "timeout", _("Timed out")
        REFUSED = "refused", _("Refused")
        CANCELLED = "cancelled", _("Cancelled")
        AWAITING_APPROVAL = "awaiting_approval", _("Awaiting approval")
        APPROVED = "approved", _("Approved, not started")
        DECLINED = "declined", _("Declined")
        PENDING = "pending", _("Waits for its result")
        EXPIRED = "expired", _("Expired")
        INTERRUPTED = "interrupted", _("Interrupted")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="tool_calls")
    run = models.ForeignKey(
        Run,
        verbose_name=_("run"),
        null=True,
        on_delete=models.CASCADE,
        related_name="tool_calls",
        help_text=_("Empty for a call outside of a run, over MCP."),
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("The caller, if there is no run."),
    )
    call_id = models.CharField(_("call id"), max_length=128)
    agent = models.CharField(
        _("agent"),
        max_length=64,
        blank=True,
        help_text=_("The assistant that called within the run. Empty: the run's own."),
    )
    name = models.CharField(_("name"), max_length=128)
    arguments = models.TextField(_("arguments"), blank=True)
    status = models.CharField(_("status"), max_length=20, choices=Status.choices, default=Status.RUNNING)
    rule = models.CharField(
        _("rule"), max_length=300, blank=True, help_text=_("The rule that allowed or refused the call.")
    )
    result = models.TextField(
        _("result"), blank=True, help_text=_("The whole result, also if the model read only a part of it.")
    )
    told = models.TextField(_("told"), blank=True, help_text=_("What the model read, if not the whole result."))
    display = models.JSONField(_("display"), null=True, help_text=_("What the page shows in place of the result."))
    asked = models.JSONField(
        _("asked"), null=True, help_text=_("The transcripts of the assistants that the call asked.")
    )
    questions = models.TextField(
        _("questions"),
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text=_("While it waits: its server's questions."),
    )
    sources = sources_field(verbose_name=_("sources"), help_text=_("Where untrusted text in the result came from."))
    error = models.TextField(_("error"), blank=True)
    error_id = models.CharField(_("error id"), max_length=32, blank=True)
    duration_ms = models.PositiveIntegerField(_("duration ms"), null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("decided by"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Who approved it."),
    )
    decided_at = models.DateTimeField(_("decided at"), null=True)
    started_at = models.DateTimeField(_("started at"), auto_now_add=True)

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ["-started_at"]
        constraints = [models.UniqueConstraint(fields=["run", "call_id"], name="one_audit_row_per_call")]
        indexes = [
            models.Index(fields=["tenant", "name", "-started_at"], name="calls_of_a_tool"),
            models.Index(fields=["-started_at"], name="calls_by_age"),
            # Few of many calls wait, and pages count them. Not by `status` alone, which changes twice in each call.
            models.Index(
                fields=["tenant", "name"], condition=Q(status="awaiting_approval"), name="calls_awaiting_approval"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.get_status_display()})"


class ApprovalManager(models.Manager["Approval"]):
    """Tool calls of runs that wait for approval."""

    def get_queryset(self) -> models.QuerySet[Approval]:
        # A call over MCP has no run; only its caller can approve it.
        return super().get_queryset().filter(status=ToolCall.Status.AWAITING_APPROVAL).exclude(run=None)


class Approval(ToolCall):
    """A tool call waiting for approval, by the member in the chat or an operator in the admin."""

    objects = ApprovalManager()  # type: ignore[misc]  # narrower than the manager of all calls

    class Meta:
        verbose_name_plural = _("pending approvals")
        proxy = True
        ordering = ["started_at"]
        verbose_name = _("pending approval")

    @property
    def waiting_run(self) -> Run:
        """The run that continues after the decision."""
        assert self.run is not None  # noqa: S101 - the manager leaves out calls without one  # nosec B101
        return self.run
