"""The shop's customers and orders in the admin, limited to the user's tenants."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from assistant.admin import TENANT, TenantScopedAdmin, TenantScopedInline
from tools.models import Customer, Order, OrderLine


@admin.register(Customer)
class CustomerAdmin(TenantScopedAdmin):
    """A tenant's customers."""

    list_display = ("number", "name", "company", "email", "city", "status", "tenant")
    list_display_links = ("number", "name")
    list_filter = (TENANT, "status")
    search_fields = ("=number", "name", "email", "company", "city")
    list_select_related = ("tenant",)


class OrderLineInline(TenantScopedInline):
    """The lines of an order. Their tenant is the order's."""

    model = OrderLine
    exclude = ("tenant",)


@admin.register(Order)
class OrderAdmin(TenantScopedAdmin):
    """A tenant's orders, with their lines."""

    list_display = ("number", "customer", "status", "total", "currency", "placed_at", "tenant")
    list_filter = (TENANT, "status", "placed_at")
    search_fields = ("=number", "customer__name", "=customer__number")
    list_select_related = ("tenant", "customer")
    date_hierarchy = "placed_at"
    inlines = (OrderLineInline,)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for line in formset.save(commit=False):
            line.tenant = form.instance.tenant
            line.save()
        for line in formset.deleted_objects:
            line.delete()
