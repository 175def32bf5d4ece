"""The shop's pages and admin, and the assistant below an address of its own."""

from django.contrib import admin
from django.urls import include, path
from orders.pages import order_page

urlpatterns = [
    path("admin/", admin.site.urls),
    path("orders/<uuid:pk>/", order_page, name="order"),
    path("assistant/", include("assistant.urls")),
]
