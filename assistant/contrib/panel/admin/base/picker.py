"""The tenant picker in the header, which narrows every list and report to one tenant."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import (
    PICKED_TENANT,
    is_operator,
    permitted_of,
    picked_tenant,
    reachable_tenants,
)
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import Tenant

# With more tenants than these the picker is a text field, with the first ones as suggestions.
MAX_OPTIONS = 60


@dataclass(frozen=True, slots=True)
class Picker:
    """The choices of the picker: the tenants as id, slug and name, at most `MAX_OPTIONS`, and the picked one."""

    options: tuple[tuple[int, str, str], ...]
    picked: Tenant | None
    is_long: bool

    @property
    def is_needed(self) -> bool:
        return len(self.options) > 1 or self.picked is not None


def reported_tenants(request: HttpRequest, permission: str = "") -> TenantFilter:
    """Return the tenants that a report is about: of those in which the user has a permission the picked one, else all.

    Without a permission, of those that the user administers.
    """
    picked = picked_tenant(request)
    if is_operator(request):
        return TenantFilter(None if picked is None else frozenset({picked.pk}))
    allowed = permitted_of(request).tenants(permission)
    return TenantFilter(allowed if picked is None else allowed & {picked.pk})


def picker_of(request: HttpRequest) -> Picker:
    """Return the picker with the tenants that the user may pick."""
    rows = tuple(
        reachable_tenants(request).order_by("name", "slug").values_list("pk", "slug", "name")[: MAX_OPTIONS + 1]
    )
    return Picker(rows[:MAX_OPTIONS], picked_tenant(request), len(rows) > MAX_OPTIONS)


@require_POST
def pick_tenant(request: HttpRequest) -> HttpResponse:
    """Remember the tenant whose slug or name was sent as `tenant`, or none if that is empty; return to `next`."""
    text = request.POST.get("tenant", "").replace("\x00", "").strip()[:200]
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = reverse("admin:index")
    if not text:
        request.session.pop(PICKED_TENANT, None)
        return HttpResponseRedirect(back)
    # A name can be changed by the tenant's own admins, to another tenant's slug too: the slug decides.
    tenants = reachable_tenants(request)
    found = list(tenants.filter(slug=text)) or list(tenants.filter(name__iexact=text)[:2])
    if len(found) != 1:
        messages.warning(request, _("There is no tenant with this slug or name. Choose one from the list."))
        return HttpResponseRedirect(f"{reverse('admin:assistant_tenant_changelist')}?{urlencode({'q': text})}")
    request.session[PICKED_TENANT] = found[0].pk
    return HttpResponseRedirect(back)
