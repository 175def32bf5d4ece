"""Operations of the shop's own OpenAPI documents as tools: as the member, for the chat's company alone."""

import json

from assistant.contrib.data import exposing_openapi
from assistant.contrib.data.exposing_openapi import ExposedDocument, expose_openapi
from assistant.contrib.data.services.openapi_views import (
    call_operation,
    document_plans,
    plan_of_document,
    tools_of_documents,
)
from assistant.contrib.data.services.operations import operations_of
from assistant.contrib.data.services.read_rows import watch
from assistant.models import Membership
from assistant.services.toolpolicy import catalogue
from assistant.testing import ToolTester, tool_context
from assistant.toolkit import ForeignRow, InvalidTool, Registry, ToolError
from django.test import override_settings
from orders.models import Order
from orders.tests import ShopTests


def posted(schema):
    """An operation whose body has one value."""
    body = {"type": "object", "properties": {"value": schema}}
    return {"requestBody": {"content": {"application/json": {"schema": body}}}}


def with_company(request, context):
    request.was_set = True


@override_settings(ROOT_URLCONF="api_urls")
class DocumentTests(ShopTests):
    document = "/api/openapi.json"

    @classmethod
    def setUpTestData(cls):
        super().setUpTestData()
        watch()

    def plan(self, *operations, **options):
        named = tuple((name, "") for name in operations) if operations else None
        return plan_of_document(ExposedDocument(document=self.document, operations=named, **options))

    def call_of(self, name, arguments=None, person=None, **options):
        (offer,) = self.plan(name, **options).offers
        return call_operation(offer, arguments or {}, tool_context(self.acme.company, person or self.ada))

    def refused_by(self, name, arguments=None, **options):
        with self.assertRaises(ToolError) as caught:
            self.call_of(name, arguments, **options)
        return str(caught.exception)


class ReadingTests(DocumentTests):
    def test_reading_is_offered_and_other_operations_by_name(self):
        tools = [offer.tool for offer in self.plan().offers]
        self.assertEqual(tools, ["orders", "order", "orders_of_all", "customers", "in_the_loop", "ledger"])
        named = plan_of_document(ExposedDocument(document=self.document, operations=(("orders", "list_orders_now"),)))
        self.assertEqual([offer.tool for offer in named.offers], ["list_orders_now"])

    def test_rows_are_the_chats_companys_also_of_a_person_of_two(self):
        for person in (self.ada, self.both):
            told = self.call_of("orders", {"status": "open"}, person)
            self.assertEqual({row["number"] for row in told}, {100, 103, 106, 109})

    def test_what_looks_secret_is_left_out(self):
        self.assertNotIn("api_key", self.call_of("orders")[0])

    def test_absent_and_foreign_are_told_the_same(self):
        foreign = str(self.globex.rows["Order"][1].pk)
        absent = "00000000-0000-4000-8000-000000000000"
        keys = (foreign, absent, "1/../x", "")
        self.assertEqual(len({self.refused_by("order", {"order_id": key}) for key in keys}), 1)
        own = self.acme.rows["Order"][1]
        self.assertEqual(self.call_of("order", {"order_id": str(own.pk)})["number"], own.number)

    def test_a_view_that_forgets_the_tenant_is_an_incident_and_no_answer(self):
        with self.assertRaises(ForeignRow):
            self.call_of("orders_of_all")

    def test_the_company_in_an_address_is_not_the_models_to_choose(self):
        (offer,) = self.plan("customers").offers
        self.assertEqual(offer.operation.parameters["properties"], {})
        told = self.call_of("customers", {"company_id": str(self.globex.company.pk)})
        self.assertEqual(
            {row["name"] for row in told if row["name"] != "Hidden"}, {f"acme-customer-{n}" for n in range(4)}
        )

    def test_async_views_are_called_too(self):
        self.assertEqual(self.call_of("in_the_loop"), {"person": str(self.ada.pk), "company": "acme"})

    def test_a_view_that_wants_a_token_refuses(self):
        self.assertIn("may not", self.refused_by("ledger"))

    def test_end_users_may_not(self):
        Membership.objects.filter(user=self.ada).update(role=Membership.Role.END_USER)
        self.assertIn("active members", self.refused_by("orders"))


class WritingTests(DocumentTests):
    def test_it_asks_first_with_what_would_be_sent(self):
        (offer,) = self.plan("make_order").offers
        self.assertEqual(sorted(offer.operation.parameters["required"]), ["number", "total"])
        self.assertFalse(offer.operation.is_read)

    def test_a_row_is_made_as_the_api_makes_it(self):
        told = self.call_of("make_order", {"number": 500, "total": "12.50"})
        self.assertEqual(Order.objects.get(pk=told["id"]).company, self.acme.company)

    def test_errors_of_validation_are_what_the_model_reads(self):
        told = self.refused_by("make_order", {"number": -1, "total": "12.50"})
        self.assertIn("greater than 0", told)

    def test_a_value_that_may_be_none_is_described_by_what_it_is_otherwise(self):
        kinds = {"schema": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}
        query = {"parameters": [{"name": "page", "in": "query", **kinds}]}
        (operation,) = operations_of({"paths": {"/orders": {"get": query}}})
        self.assertEqual(operation.parameters["properties"]["page"], {"type": "integer"})

    def test_a_number_may_be_sent_as_text_where_the_document_says_so(self):
        for schema in ({"anyOf": [{"type": "number"}, {"type": "string"}]}, {"type": ["number", "string"]}):
            (operation,) = operations_of({"paths": {"/orders": {"post": posted(schema)}}})
            kinds = [option["type"] for option in operation.parameters["properties"]["value"]["anyOf"]]
            self.assertEqual(kinds, ["number", "string"])

    def test_a_field_that_may_be_null_is_cleared_by_null(self):
        date = {"type": "string", "format": "date"}
        ways = (
            {"anyOf": [date, {"type": "null"}]},
            {**date, "nullable": True},
            {**date, "type": ["string", "null"]},
            {"oneOf": [{"enum": ["a"], "type": "string"}, {"enum": [None]}]},
        )
        for schema in ways:
            (operation,) = operations_of({"paths": {"/orders": {"patch": posted(schema)}}})
            options = operation.parameters["properties"]["value"]["anyOf"]
            self.assertEqual([option["type"] for option in options], ["string", "null"])

    def test_null_reaches_the_view(self):
        order = self.acme.rows["Order"][2]
        self.call_of("plan_order", {"order_id": str(order.pk), "due_on": "2031-05-01"})
        self.assertEqual(str(Order.objects.get(pk=order.pk).due_on), "2031-05-01")
        self.call_of("plan_order", {"order_id": str(order.pk), "due_on": None})
        self.assertIsNone(Order.objects.get(pk=order.pk).due_on)

    def test_what_a_view_does_to_another_companys_row_is_not_kept(self):
        foreign = self.globex.rows["Order"][1]
        with self.assertRaises(ForeignRow):
            self.call_of("delete_order", {"order_id": str(foreign.pk)})
        self.assertTrue(Order.objects.filter(pk=foreign.pk).exists())
        own = self.acme.rows["Order"][2]
        self.assertEqual(self.call_of("delete_order", {"order_id": str(own.pk)}), {"deleted": True})


class FindingTests(DocumentTests):
    def test_a_view_whose_tenant_is_not_known_is_offered_with_request_for_alone(self):
        self.document = "/own-way/openapi.json"
        plan = self.plan()
        self.assertEqual(plan.offers, ())
        self.assertIn("where its view has the tenant from is not known", plan.left_out[0])
        self.assertEqual(len(self.call_of("count", request_for=with_company)["orders"]), 11)
        # The first seat of somebody in both companies is Acme's: of Globex it is an incident.
        (offer,) = self.plan("count", request_for=with_company).offers
        with self.assertRaises(ForeignRow):
            call_operation(offer, {}, tool_context(self.globex.company, self.both))

    def test_documents_and_operations_that_are_not_there_are_findings(self):
        self.assertIn("no such operation", self.plan("gone").left_out[0])
        self.assertIn("cannot be read", plan_of_document(ExposedDocument(document="/gone/")).problem)
        self.assertIn("cannot be read", plan_of_document(ExposedDocument(document={"openapi": "3.1.0"})).problem)
        away = {"paths": {"/elsewhere/": {"get": {"operationId": "away"}}}}
        self.assertIn("no address", plan_of_document(ExposedDocument(document=away)).left_out[0])

    def test_mistakes_are_told_where_they_are_made(self):
        for document in (5, "schema.json"):
            with self.assertRaises(InvalidTool):
                expose_openapi(document)
        with self.assertRaises(InvalidTool):
            expose_openapi({}, request_for=lambda request: None)


class SpectacularTests(DocumentTests):
    document = "/drf/schema/"

    def test_the_document_of_drf_spectacular_is_asked_and_its_views_keep_to_the_tenant(self):
        self.assertIn("drf_orders_list", [offer.tool for offer in self.plan().offers])
        told = self.call_of("drf_orders_list", {"ordering": "-number"})
        self.assertEqual((told["count"], told["results"][0]["number"]), (11, 110))
        foreign = str(self.globex.rows["Order"][1].pk)
        self.assertIn("no such row", self.refused_by("drf_orders_retrieve", {"id": foreign}))

    def test_its_validation_and_permissions_are_the_apis(self):
        own = self.acme.rows["Order"][1]
        told = self.refused_by("drf_orders_partial_update", {"id": str(own.pk), "total": "-1"})
        self.assertIn("A total is not negative.", told)
        told = self.refused_by("drf_orders_destroy", {"id": str(own.pk)})
        self.assertEqual(told, "The user may not do this. Paid orders stay.")


class ToolTests(DocumentTests):
    def test_declared_documents_are_tools_when_the_catalogue_is_used(self):
        self.addCleanup(exposing_openapi._declared.clear)
        self.addCleanup(document_plans.cache_clear)
        document_plans.cache_clear()
        expose_openapi(self.document, operations={"orders": "ninja_orders", "make_order": "make_ninja_order"})
        with catalogue.using(Registry(tools_of_documents())):
            told = json.loads(
                ToolTester(catalogue.registry().get("ninja_orders"), tenant=self.acme.company, user=self.ada)
                .run(status="paid").content
            )  # fmt: skip
            make = catalogue.registry().get("make_ninja_order")
        self.assertEqual({row["status"] for row in told}, {"paid"})
        self.assertTrue(make.requires_approval)
        self.assertEqual([(one.label, one.new) for one in make.preview({"number": 5}, None)], [("number", 5)])
