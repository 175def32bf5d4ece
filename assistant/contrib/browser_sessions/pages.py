"""Signs other sessions of a person out."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from assistant.contrib.browser_sessions.listing import sign_out, sign_out_others
from assistant.contrib.browser_sessions.stores import can_end_sessions
from assistant.pages.signed_in import signed_in


@require_POST
@never_cache
@signed_in
def end_one(request: HttpRequest, session: int) -> HttpResponse:
    """End a session of the signed-in person, by the number of its row; 404 in signed cookies."""
    _check_possible()
    _say(request, sign_out(request, session))
    return redirect("assistant:account")


@require_POST
@never_cache
@signed_in
def end_others(request: HttpRequest) -> HttpResponse:
    """End all sessions of the signed-in person but this one; 404 in signed cookies."""
    _check_possible()
    _say(request, sign_out_others(request))
    return redirect("assistant:account")


def _check_possible() -> None:
    if not can_end_sessions():
        raise Http404("Sessions cannot be ended here.")


def _say(request: HttpRequest, count: int) -> None:
    if count:
        text = ngettext("%(count)d session is signed out.", "%(count)d sessions are signed out.", count)
        messages.success(request, text % {"count": count})
    else:
        messages.info(request, _("It was signed out already."))
