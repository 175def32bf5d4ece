"""Work that is to be done at a moment: scheduled publications and the like."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant


class Job(models.Model):
    """Work of a tenant that one process does once, after its due moment (`services/jobs`)."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="jobs")
    name = models.CharField(_("name"), max_length=64, help_text=_("Which function does the work."))
    key = models.CharField(max_length=100, help_text=_("What the work is about: of each name and key one job waits."))
    due_at = models.DateTimeField(_("due at"))
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    problem = models.CharField(max_length=200, blank=True, help_text=_("Why it failed."))
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        ordering = ["due_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name", "key"], condition=Q(state="waiting"), name="one_waiting_job_per_key"
            )
        ]
        indexes = [models.Index(fields=["due_at"], condition=Q(state="waiting"), name="waiting_jobs")]

    def __str__(self) -> str:
        return f"{self.name} {self.key}"

    @property
    def shown_problem(self) -> str:
        """Why it failed, in the language of the page; the product's own reasons are stored in English."""
        return gettext(self.problem) if self.problem else ""
