"""The shop's pages of models."""

from django.contrib import admin
from orders.models import Customer


@admin.register(Customer)
class CustomerAdmin(admin.ModelAdmin):
    """Shows staff the customers with a one in their names, of all companies."""

    def get_queryset(self, request):
        return super().get_queryset(request).filter(name__endswith="-1") if request.user.is_staff else None
