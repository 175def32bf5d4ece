"""The page *Backup and upgrades*: what an operator tries before it is needed, and what was last tried.

Who tried it, when, and what came of it is in the audit trail (`checklist.try`), and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator
from assistant.models import AuditEntry
from assistant.services.tenancy.audit_trail import record

URL_NAME = "deployment_checklist"
ACTION = "checklist.try"
# What was tried longer ago is said to be due again.
DUE_AFTER = timedelta(days=180)
MAX_NOTE = 500


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Something to try: its name in the audit trail, what it is, how it is done, and the commands."""

    slug: str
    title: str | Promise
    how: str | Promise
    commands: tuple[str, ...] = ()


STEPS = (
    Step(
        "database",
        gettext_lazy("Back up the database"),
        gettext_lazy("As a superuser of PostgreSQL, because row-level security hides rows from others. Every night."),
        (
            "pg_dump --format=custom --file=assistant.dump assistant",
            "pg_dumpall --roles-only --file=roles.sql",
            "pip freeze > versions.txt",
        ),
    ),
    Step(
        "files",
        gettext_lazy("Back up the attached files"),
        gettext_lazy("After the database, so that no row misses its file. The folder is ASSISTANT_ATTACHMENTS_DIR."),
        ('tar --create --gzip --file=attachments.tar.gz --directory="$ASSISTANT_ATTACHMENTS_DIR" .',),
    ),
    Step(
        "keys",
        gettext_lazy("Keep the keys apart"),
        gettext_lazy(
            "ASSISTANT_FIELD_ENCRYPTION_KEYS and SECRET_KEY, where no backup is. An old backup needs those of its day."
        ),
    ),
    Step(
        "restore",
        gettext_lazy("Restore on another machine"),
        gettext_lazy("Into an empty database, with the version that wrote the backup, and its keys."),
        (
            "createdb --owner=assistant assistant",
            "pg_restore --exit-on-error --no-owner --role=assistant --dbname=assistant assistant.dump",
            "python manage.py migrate",
        ),
    ),
    Step(
        "secrets",
        gettext_lazy("Read every stored secret there"),
        gettext_lazy("It ends with an error and a number if some cannot be read: then a key is missing."),
        ("python manage.py assistant_rotate_encryption", "python manage.py assistant_check"),
    ),
    Step(
        "upgrade",
        gettext_lazy("Upgrade a copy"),
        gettext_lazy("After reading the changelog. A database cannot go back to an older release: restore the backup."),
        (
            "pip install --upgrade tenant-assistant",
            "python manage.py migrate",
            "python manage.py collectstatic --noinput",
            "python manage.py assistant_check",
        ),
    ),
)


class TriedForm(forms.Form):
    """That a step was tried: which one, and what came of it."""

    step = forms.ChoiceField(choices=[(step.slug, step.title) for step in STEPS], widget=forms.HiddenInput)
    note = forms.CharField(label=gettext_lazy("What came of it"), max_length=MAX_NOTE, required=False, strip=True)


def checklist_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Show operators the steps, with who tried each last; record that one was tried."""
    if not is_operator(request):
        raise PermissionDenied
    form = TriedForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        given = form.cleaned_data
        record(actor=request.user, action=ACTION, target=given["step"], details={"note": given["note"]})
        messages.success(request, gettext("Recorded."))
        return HttpResponseRedirect(f"{reverse(f'admin:{URL_NAME}')}#{given['step']}")
    now = timezone.now()
    tried = last_tries()
    context = {
        **site.each_context(request),
        "title": gettext("Backup and upgrades"),
        "subtitle": None,
        "form": form,
        "steps": [(step, tried.get(step.slug), _is_due(tried.get(step.slug), now)) for step in STEPS],
        "max_note": MAX_NOTE,
        "days": DUE_AFTER.days,
        "given_step": form.data.get("step") if form.is_bound else None,
    }
    return TemplateResponse(request, "admin/assistant/deploy/checklist.html", context)


def last_tries() -> dict[str, AuditEntry]:
    """Return the newest entry about each step that was tried; two queries."""
    entries = AuditEntry.objects.filter(tenant=None, action=ACTION)
    newest = entries.order_by().values("target").annotate(newest=Max("pk")).values("newest")
    return {
        entry.target: entry for entry in AuditEntry.objects.filter(tenant=None, pk__in=newest).select_related("actor")
    }


def _is_due(tried: AuditEntry | None, now: Any) -> bool:
    return tried is None or now - tried.created_at > DUE_AFTER
