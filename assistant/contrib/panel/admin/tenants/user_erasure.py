"""Deleting a user on their page, which is the documented erasure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.apps import apps
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_protect

from assistant.admin.base.own_addresses import reverse
from assistant.services.privacy.erasure import count_user, erase_user
from assistant.services.tenancy.memberships import LastAdministrator, check_users_leaving


class UserErasure:
    """Erases a user as `manage.py assistant_delete_user` does, after their user name was typed; one at a time."""

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer no deletion of several users at once."""
        actions: dict[str, Any] = super().get_actions(request)  # type: ignore[misc]
        return {name: action for name, action in actions.items() if name != "delete_selected"}

    @method_decorator(csrf_protect)
    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what would be deleted; after confirmation erase the user.

        Not in a transaction of Django's: other processes must see that the user is inactive, and stop their runs.
        """
        page = cast(Any, self)
        user = page.get_object(request, object_id)
        if user is None:
            raise Http404(_("There is no such user."))
        if not page.has_delete_permission(request, user):
            raise PermissionDenied
        reason = _reason_to_keep(request, user)
        if request.method != "POST" or reason:
            context = page.admin_site.each_context(request) | {
                "title": _("Erase %(user)s") % {"user": user.get_username()},
                "opts": page.opts,
                "object": user,
                "reason": reason,
                "counts": rows_by_kind(count_user(user)),
            }
            template = "admin/assistant/user/erase.html"
            return TemplateResponse(request, template, context | (extra_context or {}))
        if request.POST.get("username", "").strip() != user.get_username():
            page.message_user(request, _("Nothing was deleted: the user name does not match."), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        counts = erase_user(user=user, actor=cast(AbstractBaseUser, request.user))
        numbers = {"user": user.get_username(), "number": sum(counts.values())}
        page.message_user(request, _("%(user)s was erased, with %(number)d rows.") % numbers, messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:auth_user_changelist"))


def _reason_to_keep(request: HttpRequest, user: User) -> str:
    """Return why a user cannot be erased here; empty if they can."""
    if user.pk == request.user.pk:
        return _("You cannot erase yourself, because the audit trail has to name an existing user.")
    try:
        check_users_leaving(users=[user])
    except LastAdministrator as exc:
        return str(exc).capitalize()
    return ""


def rows_by_kind(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return what pages call the models of `counts`, with their numbers of rows, sorted by name.

    The keys of `counts` are labels of models, such as "assistant.Conversation". Tables that only link two models have
    no name, and are left out.
    """
    of_models = [(apps.get_model(label)._meta, number) for label, number in counts.items()]
    shown = [(str(capfirst(one.verbose_name_plural)), number) for one, number in of_models if not one.auto_created]
    return sorted(shown)
