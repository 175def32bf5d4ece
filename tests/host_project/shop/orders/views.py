"""The shop's API, which the assistant calls as the member."""

from django.core.exceptions import ValidationError
from django.db.models import Count, Sum
from drf_spectacular.utils import OpenApiParameter, extend_schema
from orders.models import Campaign, Customer, Line, Order
from rest_framework import filters, permissions, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.pagination import PageNumberPagination
from rest_framework.response import Response


class LineSerializer(serializers.ModelSerializer):
    class Meta:
        model = Line
        fields = ["article", "pieces"]


class OrderSerializer(serializers.ModelSerializer):
    customer_name = serializers.CharField(source="customer.name", read_only=True)
    lines = LineSerializer(many=True, read_only=True)

    class Meta:
        model = Order
        fields = [
            "id",
            "number",
            "status",
            "total",
            "placed_at",
            "customer",
            "customer_name",
            "comment",
            "api_key",
            "lines",
        ]
        read_only_fields = ["api_key"]

    def validate_total(self, value):
        if value < 0:
            raise serializers.ValidationError("A total is not negative.")
        return value


class OrderOfCustomerSerializer(serializers.ModelSerializer):
    class Meta:
        model = Order
        fields = ["number", "status", "total", "seller", "api_key"]


class CustomerSerializer(serializers.ModelSerializer):
    country = serializers.CharField(source="country.name", read_only=True)
    orders = OrderOfCustomerSerializer(source="order_set", many=True, read_only=True)
    campaigns = serializers.StringRelatedField(many=True)

    class Meta:
        model = Customer
        fields = ["id", "name", "email", "country", "orders", "campaigns", "portal_token"]


class CustomerOfCampaignSerializer(serializers.ModelSerializer):
    class Meta:
        model = Customer
        fields = ["id", "name", "email"]


class CampaignSerializer(serializers.ModelSerializer):
    customers = CustomerOfCampaignSerializer(many=True, read_only=True)
    customer_names = serializers.SlugRelatedField(source="customers", slug_field="name", many=True, read_only=True)

    class Meta:
        model = Campaign
        fields = ["id", "name", "begins_on", "customers", "customer_names"]


class ByColumn(filters.BaseFilterBackend):
    """Finds rows by the columns that a view names: parameters by lookups."""

    def filter_queryset(self, request, queryset, view):
        lookups = {name: request.query_params[name] for name in view.found_by if name in request.query_params}
        try:
            return queryset.filter(**lookups).distinct()
        except (ValidationError, ValueError) as exc:
            raise serializers.ValidationError("A value is not of the column's kind.") from exc

    def get_schema_operation_parameters(self, view):
        return [
            {"name": name, "in": "query", "required": False, "schema": {"type": "string"}} for name in view.found_by
        ]


class Pages(PageNumberPagination):
    page_size = 5


class MayNotDeletePaid(permissions.BasePermission):
    message = "Paid orders stay."

    def has_object_permission(self, request, view, obj):
        return view.action != "destroy" or obj.status != "paid"


class OrderViewSet(viewsets.ModelViewSet):
    """The orders of a company."""

    # As of a project whose middleware has chosen a schema, and which relies on it.
    queryset = Order.objects.order_by("number")
    serializer_class = OrderSerializer
    permission_classes = [permissions.IsAuthenticated, MayNotDeletePaid]
    filter_backends = [ByColumn, filters.SearchFilter, filters.OrderingFilter]
    found_by = [
        "status",
        "placed_at__date",
        "placed_at__gte",
        "due_on__lte",
        "total__gte",
        "customer__name",
        "customer__country__name",
        "lines__pieces",
    ]
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

    @extend_schema(parameters=[OpenApiParameter("by", enum=["status", "customer__name"], required=True)])
    @action(detail=False)
    def totals(self, request):
        """How many orders there are of each status or customer, and their sum."""
        by = request.query_params["by"]
        rows = self.get_queryset().filter(customer__company=request.company).order_by(by)
        return Response(list(rows.values(by).annotate(count=Count("pk"), sum=Sum("total"))))

    @action(detail=False, methods=["post"])
    def take_over(self, request):
        """Take an order of another company, by mistake."""
        order = Order.objects.exclude(company=request.company).first()
        order.comment = "taken"
        order.save()
        return Response({"id": order.pk})


class CustomerViewSet(viewsets.ReadOnlyModelViewSet):
    """The customers of a company, with their orders."""

    queryset = (
        Customer.objects.exclude(name="Hidden")
        .select_related("country")
        .prefetch_related("order_set", "campaigns")
        .order_by("name")
    )
    serializer_class = CustomerSerializer
    permission_classes = [permissions.IsAuthenticated]
    filter_backends = [ByColumn, filters.SearchFilter]
    found_by = ["country__code", "order__status", "campaigns__name"]
    search_fields = ["name"]
    pagination_class = Pages


class CampaignViewSet(viewsets.ModelViewSet):
    """The campaigns of a company, with their customers."""

    queryset = Campaign.objects.order_by("begins_on")
    serializer_class = CampaignSerializer
    permission_classes = [permissions.IsAuthenticated]
    filter_backends = [ByColumn]
    found_by = ["begins_on__gte", "customers__name"]
