"""An API whose views have their company from the person's first seat."""

from ninja import NinjaAPI
from ninja.security import django_auth
from orders.models import Order

api = NinjaAPI(auth=django_auth, urls_namespace="own-way")


@api.get("/count", operation_id="count")
def count(request):
    seat = request.user.seats.order_by("pk").first()
    return {"orders": [order.number for order in Order.objects.filter(company=seat.company)]}
