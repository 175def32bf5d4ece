"""The tools of the shop's viewset: the API as the member, for the chat's company alone."""

import sys
from dataclasses import replace
from unittest.mock import patch

from assistant.contrib.data.exposing_views import ExposedViewSet
from assistant.contrib.data.services.viewsets import call_view, plan_of_viewset, view_plans
from assistant.models import Membership
from assistant.optional_apps import missing_packages
from assistant.services.toolpolicy import catalogue
from assistant.testing import ToolTester, tool_context
from assistant.toolkit import ForeignRow
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from orders.models import Customer, Order
from orders.tests import ShopTests
from orders.views import CampaignSerializer, CampaignViewSet, CustomerViewSet, OrderViewSet
from rest_framework import serializers
from staged import HIDDEN

ARGUMENTS = {"number": 500, "total": "12.50", "placed_at": "2031-02-01T10:00:00Z"}


class ReadTests(ShopTests):
    def test_a_list_has_the_pages_searches_and_orders_of_the_api(self):
        told = self.ask("list_api_orders")
        self.assertEqual((told["count"], [row["number"] for row in told["results"]]), (11, [100, 101, 102, 103, 104]))
        told = self.ask("list_api_orders", search="comment-7", ordering="-number", page=1)
        self.assertEqual([row["number"] for row in told["results"]], [107])

    def test_rows_have_what_the_serializer_shows_but_secrets(self):
        order = self.acme.rows["Order"][1]
        told = self.ask("retrieve_api_order", id=str(order.pk))
        self.assertEqual((told["number"], told["customer_name"]), (101, "acme-customer-1"))
        self.assertNotIn("api_key", told)

    def test_a_related_row_of_another_company_is_not_there(self):
        mine = self.acme.rows["Order"][0]
        told = self.ask("retrieve_api_order", id=str(mine.pk))
        self.assertEqual((told["number"], told["customer"], told.get("customer_name")), (100, None, None))
        self.assertNotIn("globex", str(self.ask("list_api_orders")))
        mine.refresh_from_db()
        self.assertEqual(mine.customer_id, self.globex.rows["Customer"][0].pk)

    def test_a_secret_column_orders_and_finds_nothing(self):
        self.assertIn("cannot be ordered", self.refused("list_api_orders", ordering="number,-api_key"))
        with patch.object(OrderViewSet, "search_fields", ["api_key", "comment"]):
            self.assertEqual(self.ask("list_api_orders", search=HIDDEN)["count"], 0)
            self.assertEqual(self.ask("list_api_orders", search="comment-7")["count"], 1)

    def test_absent_and_foreign_are_told_the_same(self):
        foreign = str(self.globex.rows["Order"][1].pk)
        absent = "00000000-0000-4000-8000-000000000000"
        self.assertEqual(len({self.refused("retrieve_api_order", id=key) for key in (foreign, absent)}), 1)

    def test_an_action_of_its_own_is_the_members(self):
        told = self.ask("mine_api_orders")
        rows = told if isinstance(told, list) else told["rows"]
        self.assertEqual(len(rows), 10)

    def test_the_page_of_the_reach_shows_it(self):
        self.client.force_login(self.staff)
        page = self.client.get(reverse("admin:assistant_data_reachreview_changelist"))
        self.assertContains(page, "orders.views.OrderViewSet")
        told = self.client.get(reverse("admin:data_reach_json")).json()["viewsets"]["orders.views.OrderViewSet"]
        self.assertEqual((told["path"], told["tools"][0]), ("company", "list_api_orders"))

    def test_without_the_package_that_reads_parameters_nothing_is_offered_and_it_is_named(self):
        with patch.dict(sys.modules, {"drf_spectacular": None}):
            plan = plan_of_viewset(view_plans()[0].exposed)
            missing = [*missing_packages()]
        self.assertEqual(plan.offers, ())
        self.assertIn("drf-spectacular, which is not installed", plan.problem)
        self.assertIn("tenant-assistant[api-docs]", missing[0])

    def test_end_users_may_not(self):
        Membership.objects.filter(user=self.ada).update(role=Membership.Role.END_USER)
        self.assertIn("active members", self.refused("list_api_orders"))


class NestedTests(ShopTests):
    """Acme's customer 0 has an order of Globex's, and its campaign in spring a customer."""

    def test_rows_of_other_companies_are_not_in_lists_of_related_rows(self):
        for person in (self.ada, self.both, self.staff):
            told = self.ask("list_api_customers", person, search="customer-0")["results"]
            self.assertEqual(sorted(order["number"] for order in told[0]["orders"]), [104, 108])
            self.assertNotIn("api_key", told[0]["orders"][0])
            told = self.ask("list_api_campaigns", person)[0]
            self.assertEqual(sorted(told["customer_names"]), ["acme-customer-0", "acme-customer-1"])
            self.assertEqual([row["name"] for row in told["customers"]], told["customer_names"])
            self.assertNotIn("globex", str(told))

    def test_nor_by_lists_that_were_not_read_ahead(self):
        with patch.object(CustomerViewSet, "queryset", Customer.objects.all()):
            told = self.ask("list_api_customers", search="customer-0")
        self.assertEqual(sorted(order["number"] for order in told["results"][0]["orders"]), [104, 108])

    def test_foreign_keys_of_related_rows_are_emptied_and_stay(self):
        order = self.acme.rows["Order"][4]
        Order.objects.filter(pk=order.pk).update(seller=self.globex.people[0])
        told = self.ask("list_api_customers", search="customer-0")["results"][0]["orders"]
        self.assertEqual({one["number"]: one["seller"] for one in told}, {104: None, 108: str(self.ada.pk)})
        order.refresh_from_db()
        self.assertEqual(order.seller_id, self.globex.people[0].pk)

    def test_no_more_queries_with_more_rows(self):
        counts = []
        for words in ("customer-0", "customer"):
            with CaptureQueriesContext(connection) as queries:
                self.ask("list_api_customers", search=words)
            counts.append(len(queries))
        self.assertEqual(counts[0], counts[1])

    def test_what_writes_shows_no_related_rows_of_others_and_keeps_them(self):
        campaign = self.acme.rows["Campaign"][0]
        exposed = ExposedViewSet(viewset=CampaignViewSet, actions=("partial_update",))
        (offer,) = plan_of_viewset(exposed).offers
        told = call_view(offer, {"id": str(campaign.pk), "name": "later"}, tool_context(self.acme.company, self.ada))
        self.assertEqual((told["name"], len(told["customers"])), ("later", 2))
        self.assertEqual(campaign.customers.count(), 3)

    def test_rows_that_a_view_reads_by_itself_are_looked_at(self):
        def names_of(serializer, campaign):
            return [row.name for row in campaign.customers.all()]

        field = serializers.SerializerMethodField(method_name="names_of")
        own_way = type("OwnWay", (CampaignSerializer,), {"customer_names": field, "names_of": names_of})
        with patch.object(CampaignViewSet, "serializer_class", own_way), self.assertRaises(ForeignRow):
            self.ask("list_api_campaigns")


class WriteTests(ShopTests):
    def test_reading_is_off_until_switched_on_and_all_else_asks_with_what_is_sent(self):
        registry = catalogue.registry()
        self.assertTrue(registry.get("list_api_orders").read_only)
        create = registry.get("create_api_order")
        self.assertFalse(create.enabled_by_default)
        self.assertTrue(create.requires_approval)
        shown = [(change.label, change.new) for change in create.preview({"number": 5}, None)]
        self.assertEqual(shown, [("number", 5)])
        self.assertEqual(sorted(create.parameters["required"]), ["number", "placed_at", "total"])

    def test_a_row_is_made_as_the_api_makes_it(self):
        told = self.ask("create_api_order", **ARGUMENTS)
        self.assertEqual(Order.objects.get(pk=told["id"]).company, self.acme.company)

    def test_errors_of_validation_are_what_the_model_reads(self):
        told = self.refused("create_api_order", **ARGUMENTS | {"total": "-1"})
        self.assertIn("A total is not negative.", told)

    def test_another_companys_row_cannot_be_linked(self):
        foreign = self.globex.rows["Customer"][0]
        told = self.refused("create_api_order", **ARGUMENTS, customer=foreign.pk)
        self.assertIn("customer", told)
        self.assertFalse(Order.objects.filter(number=500).exists())

    def test_the_views_permissions_count(self):
        paid = next(order for order in self.acme.rows["Order"] if order.status == "paid")
        self.assertIn("may not", self.refused("destroy_api_order", id=str(paid.pk)))
        other = next(order for order in self.acme.rows["Order"] if order.status == "open" and not order.is_deleted)
        self.assertEqual(self.call("destroy_api_order", id=str(other.pk)), "Done")
        self.assertFalse(Order.objects.filter(pk=other.pk).exists())

    def test_an_action_of_its_own_changes_a_row(self):
        order = self.acme.rows["Order"][1]
        self.assertEqual(self.ask("close_api_order", id=str(order.pk)), {"status": "sent"})
        foreign = self.globex.rows["Order"][1]
        self.refused("close_api_order", id=str(foreign.pk))
        foreign.refresh_from_db()
        self.assertEqual(foreign.status, "paid")

    def test_a_related_row_of_another_company_is_not_shown_by_what_writes_and_stays(self):
        mine = self.acme.rows["Order"][0]
        told = self.ask("partial_update_api_order", id=str(mine.pk), comment="late")
        self.assertEqual((told["comment"], told["customer"], told.get("customer_name")), ("late", None, None))
        mine.refresh_from_db()
        self.assertEqual(mine.customer_id, self.globex.rows["Customer"][0].pk)

    def test_what_a_view_writes_to_another_company_is_not_kept(self):
        exposed = replace(view_plans()[0].exposed, actions=("take_over",))
        (offer,) = plan_of_viewset(exposed).offers
        context = tool_context(self.acme.company, self.ada)
        with self.assertRaises(ForeignRow):
            call_view(offer, {}, context)
        self.assertFalse(Order.objects.filter(comment="taken").exists())

    def call(self, name, **arguments):
        tool = catalogue.registry().get(name)
        return ToolTester(tool, tenant=self.acme.company, user=self.ada).run(**arguments).content
