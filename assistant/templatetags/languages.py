"""The language of a page, for templates."""

from __future__ import annotations

from django import template

from assistant.services.languages import page_language

register = template.Library()
register.simple_tag(page_language, name="page_language")
