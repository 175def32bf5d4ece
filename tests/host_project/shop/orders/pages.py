"""A page of the shop that shows an order, with the assistant's widget."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.template import engines
from orders.models import Order

PAGE = """{% load assistant_data %}<!doctype html>
<html lang="{{ language }}" dir="{% if language == "ar" %}rtl{% else %}ltr{% endif %}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Order {{ order.number }}</title>
<main><h1>Order {{ order.number }}</h1>
<p><a class="ask" href="{% assistant_ask_url order %}">Ask about this order</a></p></main>
{% assistant_page order %}
<script type="module" src="/static/assistant/widget.js"></script>
<tenant-assistant token-url="/assistant/t/acme/widget-token/" assistant="support"></tenant-assistant>
</html>"""


@login_required
def order_page(request, pk):
    order = get_object_or_404(Order, pk=pk)
    page = engines["django"].from_string(PAGE)
    return HttpResponse(page.render({"order": order, "language": request.GET.get("language", "en")}, request))
