"""Template tag for addresses of the APIs, in a project that mounts them with the pages or apart."""

from __future__ import annotations

from django import template

from assistant.services.addresses import api_url

register = template.Library()
register.simple_tag(api_url)
