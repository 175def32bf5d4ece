"""The price list in the admin, and what the control panel shows of it."""

from django.contrib import admin

from assistant.admin.base.late_pages import late_page
from assistant.contrib.price_list.models import ModelPrice

admin.site.register(ModelPrice, late_page("assistant.contrib.price_list.admin.prices.ModelPriceAdmin"))  # type: ignore[arg-type]  # called as a class
