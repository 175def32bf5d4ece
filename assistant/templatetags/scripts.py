"""Scripts of a page, for templates."""

from __future__ import annotations

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from assistant.services.script_modules import preload_urls

register = template.Library()


@register.simple_tag
def module_preloads(name: str) -> SafeString:
    """Return links that let the browser fetch all that a module of ours imports together with the module itself."""
    return format_html_join("\n", '<link rel="modulepreload" href="{}">', ([url] for url in preload_urls(name)))
