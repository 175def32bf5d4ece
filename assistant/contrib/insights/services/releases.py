"""Records that another release has begun to answer, so that what it spoils has a change to be found by."""

from __future__ import annotations

from importlib.metadata import distributions

from django.conf import settings

from assistant.models import AuditEntry
from assistant.services.tenancy import audit_trail

# The action of the audit; its target is the release.
RELEASE = "release.begin"


def current_release() -> str:
    """Return `ASSISTANT_RELEASE`, else the version of the installed package; "" of a checkout."""
    named: str = settings.ASSISTANT_RELEASE
    return named or next((one.version for one in distributions(name="tenant-assistant")), "")


def record_release() -> bool:
    """Record the release of this process unless the last one that was recorded is the same; return whether it did.

    The first one is recorded too: later ones are told apart from it.
    """
    release = current_release()[:200]
    last = AuditEntry.objects.filter(tenant=None, action=RELEASE).order_by("-pk").values_list("target", flat=True)
    if not release or last.first() == release:
        return False
    audit_trail.record(actor=None, action=RELEASE, target=release)
    return True
