"""Renders pages for members: as pages of their own, or inside the base template of a host project."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template, render_to_string
from django.template.loader_tags import BlockNode, ExtendsNode
from django.utils.safestring import mark_safe

BLOCKS = ("assistant_title", "assistant_head", "assistant_content")
_PARTS = ("title", "head", "body_class", "body")
# It adds some random bytes, and tokens of forms are masked anew in each page, so that sizes tell nothing of secrets.
_gzip = GZipMiddleware(lambda request: HttpResponse())


def render_page(request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """Render a template that extends `assistant/base.html`; with `ASSISTANT_BASE_TEMPLATE`, inside that template.

    It is rendered by itself first, so that neither the names of its blocks nor those in its context meet the host's.
    """
    if not settings.ASSISTANT_BASE_TEMPLATE:
        return render_packed(request, template, context)
    mark = secrets.token_hex()
    page = render_to_string(template, {**context, "assistant_mark": mark, "is_in_host": True}, request)
    # The template engine has escaped what needed it.
    parts = {
        name: mark_safe(part)  # noqa: S308  # nosec B308 B703
        for name, part in zip(_PARTS, page.split(mark)[1::2], strict=True)
    }
    return render(request, "assistant/in_host.html", parts | {"base_template": settings.ASSISTANT_BASE_TEMPLATE})


def render_packed(request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """Render a template of ours alone, compressed for clients that accept gzip."""
    response = render(request, template, dict(context))
    _gzip.process_response(request, response)
    return response


def problem_of_base_template() -> str:
    """Return what is wrong with the template that `ASSISTANT_BASE_TEMPLATE` names; empty if nothing is."""
    name = settings.ASSISTANT_BASE_TEMPLATE
    if not name:
        return ""
    try:
        found = set(_block_names(get_template(name).template))  # type: ignore[attr-defined]  # Django's own engine
    except TemplateDoesNotExist as exc:
        return f"there is no template {str(exc)!r}"
    except (AttributeError, TemplateSyntaxError) as exc:
        return f"it is no template of Django's engine that can be read ({exc})"
    missing = [block for block in BLOCKS if block not in found]
    return f"it has no block {' and no block '.join(missing)}" if missing else ""


def _block_names(template: Any) -> Iterator[str]:
    """Yield the names of a template's blocks, and of those of its parents that are named by a constant."""
    yield from (node.name for node in template.nodelist.get_nodes_by_type(BlockNode))
    for node in template.nodelist.get_nodes_by_type(ExtendsNode):
        if isinstance(node.parent_name.var, str):
            yield from _block_names(get_template(node.parent_name.var).template)  # type: ignore[attr-defined]
