"""What callers of the Responses API asked for, as it is given back to them."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models import Run, Tenant


class StoredResponse(models.Model):
    """What the caller of a response asked for; the answer is in the messages of its run."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="stored_response")
    echo = models.JSONField(help_text=_("What every answer repeats of the request."))
    inputs = models.PositiveIntegerField(
        null=True, help_text=_("How many messages of the run are its input. Empty: it is in a conversation.")
    )

    class Meta:
        verbose_name = _("stored response")
        verbose_name_plural = _("stored responses")

    def __str__(self) -> str:
        return f"Response {self.run_id}"
