"""The row on the screen, rows that are named with @, and links that ask about one."""

import json

from assistant.contrib.data.services import references, rows_by_name
from assistant.models import Assistant, Provider, Tenant, ToolSetting
from assistant.services.addresses import api_url
from assistant.testing import AssistantTestMixin, ChatTester, ToolCall
from django.core import signing
from django.db import connection
from django.template import Context, Template
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from orders.models import Order, Stray
from orders.tests import ShopTests
from unittest import mock


class RowTests(AssistantTestMixin, ShopTests):
    @classmethod
    def setUpTestData(cls):
        super().setUpTestData()
        for slug in ("acme", "globex"):
            tenant = Tenant.objects.get(slug=slug)
            provider = Provider.objects.create(tenant=tenant, name="p", default_model="m")
            Assistant.objects.create(tenant=tenant, slug="support", name="Support", provider=provider)
            for tool in ("get_order", "get_customer", "find_orders"):
                ToolSetting.objects.create(tenant=tenant, tool=tool, policy="on")

    def setUp(self):
        super().setUp()
        # A busy machine must not make a search stop early.
        self.enterContext(mock.patch.object(rows_by_name, "SECONDS", 600))

    def tag(self, row, person=None, tag="assistant_page"):
        request = RequestFactory().get("/")
        request.user = person or self.ada
        text = "{% load assistant_data %}{% " + tag + " row %}"
        return Template(text).render(Context({"row": row, "request": request}))

    def reference(self, row, person=None):
        page = self.tag(row, person)
        return page.partition('data-assistant-row="')[2].partition('"')[0]

    def rows(self, person=None, company="acme", **query):
        self.client.force_login(person or self.ada)
        return self.client.get(api_url("rows", tenant=company, assistant="support"), query)

    def labels(self, *args, **query):
        return [row["label"] for row in self.rows(*args, **query).json()]


class PageTests(RowTests):
    def test_the_page_names_its_row_with_the_label_that_the_member_sees(self):
        page = self.tag(self.acme.rows["Order"][3])
        self.assertIn('data-label="103 of acme-customer-3" data-kind="order"', page)

    def test_nothing_is_written_for_rows_that_the_person_does_not_see(self):
        hidden = Order._base_manager.filter(company=self.acme.company, is_deleted=True).get()
        for row in (self.globex.rows["Order"][3], hidden, Stray.objects.get(), self.acme.company, None, "x"):
            self.assertEqual(self.tag(row), "")
        self.assertEqual(self.tag(self.acme.rows["Order"][3], self.globex.people[0]), "")

    def test_who_is_in_both_companies_names_the_row_in_its_own(self):
        for company in (self.acme, self.globex):
            link = self.tag(company.rows["Order"][3], self.both, tag="assistant_ask_url")
            self.assertTrue(link.startswith(f"/assistant/t/{company.company.slug}/?about="), link)

    def test_a_page_takes_two_queries_more(self):
        self.tag(self.acme.rows["Order"][3])
        counts = []
        # Of three readings one is without what the process looks for every few seconds, in whatever call comes then.
        for _ in range(3):
            with CaptureQueriesContext(connection) as queries:
                self.tag(self.acme.rows["Order"][3])
            counts.append(len([one for one in queries if one["sql"].startswith("SELECT")]))
        self.assertEqual(min(counts), 2)

    def test_the_page_of_the_order_has_it(self):
        self.client.force_login(self.ada)
        order = self.acme.rows["Order"][3]
        self.assertContains(self.client.get(f"/orders/{order.pk}/"), "data-assistant-row")
        self.assertContains(self.client.get(f"/orders/{order.pk}/"), "/assistant/t/acme/?about=")

    def test_change_pages_of_the_admin_link_to_a_conversation_for_members(self):
        customer = self.acme.rows["Customer"][1]
        self.client.force_login(self.staff)
        page = self.client.get(reverse("admin:orders_customer_change", args=[customer.pk]))
        self.assertContains(page, 'data-address="/assistant/t/acme/?about=')
        self.assertContains(page, 'data-label="Ask about this"')
        self.staff.seats.filter(company=self.acme.company).delete()
        page = self.client.get(reverse("admin:orders_customer_change", args=[customer.pk]))
        self.assertNotContains(page, "?about=")


class NameTests(RowTests):
    def test_rows_are_found_by_words_and_numbers(self):
        self.assertEqual(self.labels(search="103"), ["103 of acme-customer-3"])
        self.assertIn("109 of acme-customer-1", self.labels(search="10"))
        self.assertIn("acme-customer-2", self.labels(search="customer-2"))

    def test_only_rows_of_the_chats_company_that_the_member_sees(self):
        self.assertEqual(self.labels(search="globex"), [])
        self.assertEqual(self.labels(self.both, "globex", search="acme-customer"), [])
        self.assertEqual(self.labels(search="Hidden"), [])
        self.assertEqual(self.labels(search="ada@acme.example 103"), ["103 of acme-customer-3"])

    def test_another_company_is_not_found(self):
        self.assertEqual(self.rows(company="globex", search="x").status_code, 404)
        self.client.logout()
        self.assertEqual(self.client.get(api_url("rows", tenant="acme", assistant="support")).status_code, 401)

    def test_only_models_whose_tool_may_be_used(self):
        ToolSetting.objects.filter(tenant__slug="acme", tool="get_customer").update(policy="off")
        self.assertNotIn("acme-customer-2", self.labels(search="customer-2"))
        self.assertIn("102 of acme-customer-2", self.labels(search="customer-2"))

    def test_at_most_eight_rows_in_turn_of_models_and_a_bounded_text(self):
        kinds = [row["kind"] for row in self.rows(search="acme-customer").json()]
        self.assertEqual(len(kinds), 8)
        self.assertEqual(kinds[:2], ["order", "customer"])
        self.assertEqual(self.rows(search="x" * 101).status_code, 400)
        self.assertEqual(self.labels(search=""), [])

    def test_a_reference_names_its_row_for_whom_it_was_made_alone(self):
        order = self.acme.rows["Order"][3]
        reference = self.reference(order)
        self.assertEqual(self.labels(reference=reference), ["103 of acme-customer-3"])
        self.assertEqual(self.labels(self.both, reference=reference), [])
        self.assertEqual(self.labels(self.both, "globex", reference=self.reference(order, self.both)), [])
        Order.objects.filter(pk=order.pk).update(is_deleted=True)
        self.assertEqual(self.labels(reference=reference), [])

    def test_no_more_queries_with_more_rows(self):
        counts = []
        for text in ("103", "acme"):
            self.rows(search=text)
            with CaptureQueriesContext(connection) as queries:
                self.rows(search=text)
            counts.append(len([one for one in queries if "orders_" in one["sql"] and one["sql"].startswith("SELECT")]))
        self.assertEqual(counts[0], counts[1])


class RunTests(RowTests):
    def asked(self, rows, door="websocket", company=None, person=None):
        model = self.answer("It is paid.")
        with ChatTester(company or self.acme.company, person or self.ada, "support", door=door) as chat:
            return chat.ask("What about this order?", forwardedProps={"rows": rows}), model

    def test_the_model_is_told_which_row_and_how_to_read_it(self):
        order = self.acme.rows["Order"][3]
        for door in ("websocket", "sse"):
            answer, model = self.asked([{"reference": self.reference(order)}], door)
            self.assertEqual(answer.error, "")
            told = model.requests[-1].messages[-1].content
            self.assertIn(f'The order on the user\'s screen. Read it with get_order, id "{order.pk}".', told)

    def test_it_says_so_if_no_tool_reads_it(self):
        ToolSetting.objects.filter(tenant__slug="acme", tool="get_order").update(policy="off")
        order = self.acme.rows["Order"][3]
        _, model = self.asked([{"reference": self.reference(order)}])
        told = str(model.requests[-1].messages)
        self.assertIn("no tool of yours reads it", told)
        self.assertNotIn(str(order.pk), told)

    def test_references_that_were_not_made_here_or_for_others_are_refused(self):
        order = self.acme.rows["Order"][3]
        good = self.reference(order)
        forged = signing.dumps(["1", str(self.ada.pk), "orders.order", str(order.pk)], key="x", salt=references._SALT)
        for wrong in (
            good[:-1] + ("A" if good[-1] != "A" else "B"),
            forged,
            "x" * 700,
            self.reference(order, self.both),
        ):
            answer, model = self.asked([{"reference": wrong}])
            self.assertEqual(answer.error, "invalid_input")
            self.assertEqual(model.requests, [])
            self.assertIn("forwardedProps.rows.0 is no reference of this site", answer.events[-1]["message"])
        answer, _ = self.asked(
            [{"reference": self.reference(order, self.both)}], company=self.globex.company, person=self.both
        )
        self.assertEqual(answer.error, "invalid_input")

    def test_other_values_are_refused(self):
        reference = self.reference(self.acme.rows["Order"][3])
        with ChatTester(self.acme.company, self.ada, "support") as chat:
            for wrong in ("x", [1], [{}], [{"reference": 1}], [{"reference": reference, "name": "x" * 201}], [{}] * 6):
                answer = chat.ask("x", forwardedProps={"rows": wrong})
                self.assertEqual(answer.error, "invalid_input", wrong)

    def test_a_row_that_is_gone_is_told_as_absent_when_it_is_read(self):
        order = self.acme.rows["Order"][3]
        reference = self.reference(order)
        Order.objects.filter(pk=order.pk).update(is_deleted=True)
        self.answer(ToolCall("c", "get_order", json.dumps({"id": str(order.pk)})), "There is none.")
        chat = self.chat(self.acme.company, self.ada, "support")
        answer = chat.ask("What about this order?", forwardedProps={"rows": [{"reference": reference}]})
        self.assertIn("There is no order with this id", json.dumps(answer.tool_results))
