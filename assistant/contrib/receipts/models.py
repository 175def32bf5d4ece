"""What is known of where the values of an answer came from."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.fields import list_field
from assistant.models.runs import Run
from assistant.models.tenants import Tenant


class Receipt(models.Model):
    """The receipt of a run's answer: places and sources, never the values themselves."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="+")
    run = models.OneToOneField(Run, verbose_name=_("run"), on_delete=models.CASCADE, related_name="+")
    message_id = models.CharField(
        _("message id"), max_length=200, help_text=_("The answer, by the id that clients know.")
    )
    marks = list_field(verbose_name=_("marks"), help_text=_("Of each value its place in the answer, and its sources."))
    actions = list_field(
        verbose_name=_("actions"), help_text=_("Actions that the answer claims, and the tool that did each.")
    )
    values = models.PositiveIntegerField(_("values"), default=0, help_text=_("Values in the answer."))
    unsupported = models.PositiveIntegerField(
        _("values without a source"), default=0, help_text=_("Values that were found in no source.")
    )
    unsupported_actions = models.PositiveIntegerField(
        _("claims without a call"), default=0, help_text=_("Actions that were claimed and that no call has done.")
    )
    tools = list_field(verbose_name=_("tools"), help_text=_("The tools that the run has called."))
    is_checked = models.BooleanField(
        _("checked"),
        default=True,
        help_text=_("Whether the answer was looked at in time."),
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("receipt")
        verbose_name_plural = _("receipts")
        indexes = [
            models.Index(
                fields=["tenant", "-created_at"],
                condition=models.Q(unsupported__gt=0)
                | models.Q(unsupported_actions__gt=0)
                | models.Q(is_checked=False),
                name="receipts_with_something_amiss",
            )
        ]

    def __str__(self) -> str:
        return self.message_id
