"""The shop with its APIs: of django-ninja, and of Django REST framework with the document of drf-spectacular."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from orders import ninja_api, own_way_api
from orders.views import OrderViewSet
from rest_framework.routers import SimpleRouter


router = SimpleRouter()
router.register("orders", OrderViewSet)
rest = path("drf/", include(router.urls))
urlpatterns = [
    path("", include("shop_urls")),
    path("api/", ninja_api.api.urls),
    path("own-way/", own_way_api.api.urls),
    path("drf/schema/", SpectacularAPIView.as_view(patterns=[rest])),
    rest,
]
