"""The shop's API, which the assistant calls as the member."""

from orders.models import Order
from rest_framework import filters, permissions, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.pagination import PageNumberPagination
from rest_framework.response import Response


class OrderSerializer(serializers.ModelSerializer):
    customer_name = serializers.CharField(source="customer.name", read_only=True)

    class Meta:
        model = Order
        fields = ["id", "number", "status", "total", "placed_at", "customer", "customer_name", "comment", "api_key"]
        read_only_fields = ["api_key"]

    def validate_total(self, value):
        if value < 0:
            raise serializers.ValidationError("A total is not negative.")
        return value


class Pages(PageNumberPagination):
    page_size = 5


class MayNotDeletePaid(permissions.BasePermission):
    def has_object_permission(self, request, view, obj):
        return view.action != "destroy" or obj.status != "paid"


class OrderViewSet(viewsets.ModelViewSet):
    """The orders of a company."""

    # As of a project whose middleware has chosen a schema, and which relies on it.
    queryset = Order.objects.order_by("number")
    serializer_class = OrderSerializer
    permission_classes = [permissions.IsAuthenticated, MayNotDeletePaid]
    filter_backends = [filters.SearchFilter, filters.OrderingFilter]
    search_fields = ["comment"]
    pagination_class = Pages

    def perform_create(self, serializer):
        serializer.save(company=self.request.company)

    @action(detail=True, methods=["post"])
    def close(self, request, pk=None):
        """Mark an order as sent."""
        order = self.get_object()
        order.status = "sent"
        order.save()
        return Response({"status": order.status})

    @action(detail=False)
    def mine(self, request):
        """Orders that the person has sold."""
        found = self.get_queryset().filter(seller=request.user)
        return Response(self.get_serializer(found, many=True).data)

    @action(detail=False, methods=["post"])
    def take_over(self, request):
        """Take an order of another company, by mistake."""
        order = Order.objects.exclude(company=request.company).first()
        order.comment = "taken"
        order.save()
        return Response({"id": order.pk})
