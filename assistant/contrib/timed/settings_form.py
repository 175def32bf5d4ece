"""What a person chooses about alarms on the page of their own settings."""

from __future__ import annotations

from typing import Any

from django import forms

from assistant.contrib.timed.models import PersonAlarms
from assistant.contrib.timed.switches import alarms_are_on
from assistant.services.tenancy.mail import is_mail_configured


class PersonAlarmsForm(forms.ModelForm[PersonAlarms]):
    """Whether a person gets e-mails about alarms."""

    class Meta:
        model = PersonAlarms
        fields = ("are_mailed",)


def form_of(user: Any, data: Any) -> PersonAlarmsForm | None:
    """Return the form of a person; None if no e-mails are sent about alarms here.

    Args:
        data: the fields of a posted form; None to show what is stored.
    """
    if not is_mail_configured() or not alarms_are_on():
        return None
    stored = PersonAlarms.objects.filter(user_id=user.pk).first() or PersonAlarms(user_id=user.pk)
    return PersonAlarmsForm(data, instance=stored, prefix="alarms")
