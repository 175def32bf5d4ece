"""The host's own pages, and those of the tests' site."""

from django.contrib.auth.views import LoginView, LogoutView
from django.shortcuts import render
from django.urls import include, path

from config.urls import urlpatterns as sites

urlpatterns = [
    path("orders/", lambda request: render(request, "site.html"), name="orders"),
    path("sign-in/", LoginView.as_view(template_name="sign_in.html", next_page="orders"), name="login"),
    path("office/panel/", include("assistant.contrib.panel.panel_urls")),
    path("leave/", LogoutView.as_view(next_page="orders"), name="leave"),
    *sites,
]
