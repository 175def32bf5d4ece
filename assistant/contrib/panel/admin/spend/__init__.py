"""The pages of spend: what it was for, and the tokens behind it; with them are the limits of a tenant."""

from django.contrib import admin

from assistant.contrib.panel.admin.spend import usage
from assistant.models import TenantLimits

admin.site.unregister(TenantLimits)

__all__ = ["usage"]
