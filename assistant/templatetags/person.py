"""The settings of the signed-in person, for templates of all pages."""

from __future__ import annotations

from django import template
from django.template import Context

from assistant.services.tenancy.person_settings import NOTHING_SET, PersonValues, settings_for

register = template.Library()


@register.simple_tag(takes_context=True)
def own_settings(context: Context) -> PersonValues:
    """Return the settings; empty ones where nobody is signed in, or the template is rendered without a request."""
    request = getattr(context, "request", None)
    return NOTHING_SET if request is None else settings_for(request)
