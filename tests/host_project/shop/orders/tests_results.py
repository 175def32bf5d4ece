"""Rows and figures of answers: as cards, tables and charts, with the reader's rights, and as CSV."""

import csv
import io
import json

from assistant.contrib.data.services import csv_rows
from assistant.contrib.data.services.csv_rows import cell
from assistant.contrib.data.services.shown_results import shown_results
from assistant.models import Run, Tenant, ToolSetting
from assistant.services.addresses import api_url
from assistant.services.tenancy.members import find_member
from assistant.testing import ChatTester, ToolCall
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from orders.models import Order
from orders.tests_rows import RowTests
from unittest import mock


def with_template(text):
    """Let the project have a template for orders."""
    options = {**settings.TEMPLATES[0]["OPTIONS"], "loaders": [
        ("django.template.loaders.locmem.Loader", {"assistant/orders/order.html": text}),
        "django.template.loaders.app_directories.Loader",
    ]}  # fmt: skip
    return override_settings(TEMPLATES=[{**settings.TEMPLATES[0], "APP_DIRS": False, "OPTIONS": options}])


class ResultTests(RowTests):
    def asked(self, tool, **arguments):
        tenant = Tenant.objects.get(slug="acme")
        ToolSetting.objects.get_or_create(tenant=tenant, tool=tool, defaults={"policy": "on"})
        self.answer(ToolCall("call-1", tool, json.dumps(arguments)), "There they are.")
        with ChatTester(self.acme.company, self.ada, "support") as chat:
            self.assertEqual(chat.ask("Which?").error, "")
        return Run.objects.latest("pk")

    def shown(self, run, person=None):
        member = find_member(user_id=(person or self.ada).pk, tenant_slug="acme")
        return shown_results(member=member, runs=[run]).get(run.pk, {}).get("results", [])

    def csv(self, run, person=None, company="acme"):
        self.client.force_login(person or self.ada)
        call_id = run.tool_calls.get().call_id
        address = api_url("rows-csv", tenant=company, run_id=run.shown_id, call_id=call_id)
        return self.client.get(address)


class RowResultTests(ResultTests):
    def test_rows_are_typed_parts_with_what_the_tool_returned(self):
        run = self.asked("find_orders", where={"number": {"is": 103}})
        Order.objects.filter(number=103).update(total=999)
        (shown,) = self.shown(run)
        (row,) = shown["rows"]
        self.assertEqual((shown["type"], shown["title"], row["label"]), ("rows", "Orders", "103 of acme-customer-3"))
        names = [column["name"] for column in shown["columns"]]
        values = dict(zip(names, row["values"], strict=True))
        self.assertEqual((values["total"], values["status"]), ("30.00", "Waiting for payment"))
        self.assertEqual([one["name"] for one in shown["columns"] if one["isMain"]], ["number", "status", "total"])

    def test_rows_that_are_not_seen_any_more_and_tools_that_are_off_are_left_out(self):
        run = self.asked("find_orders", size=3, order_by="number")
        Order.objects.filter(number=101, company=self.acme.company).update(is_deleted=True)
        (shown,) = self.shown(run)
        self.assertEqual([row["label"][:3] for row in shown["rows"]], ["100", "102"])
        ToolSetting.objects.filter(tenant__slug="acme", tool="find_orders").update(policy="off")
        self.assertEqual(self.shown(run), [])

    def test_another_reader_gets_what_they_see_now_and_no_figures(self):
        run = self.asked("find_orders", where={"number": {"is": 103}})
        Order.objects.filter(number=103).update(total=999)
        (shown,) = self.shown(run, self.both)
        self.assertIn("999.00", shown["rows"][0]["values"])
        self.assertIsNone(shown["csv"])
        run = self.asked("summarise_orders", measure="count", group_by=["status"])
        self.assertEqual(len(self.shown(run)), 1)
        self.assertEqual(self.shown(run, self.both), [])

    def test_at_most_three_queries_and_no_more_with_more_rows(self):
        counts = []
        for size in (1, 10):
            run = self.asked("find_orders", size=size)
            counted = []
            rows_counted = []
            # Of three readings one is without what the process looks for every few seconds.
            for _ in range(3):
                with CaptureQueriesContext(connection) as queries:
                    (shown,) = self.shown(run)
                self.assertEqual(len(shown["rows"]), size)
                of_rows = [one for one in queries if "orders_" in one["sql"] or "assistant_toolcall" in one["sql"]]
                rows_counted.append(len(of_rows))
                reads = [one for one in queries if one["sql"].startswith(("SELECT", "WITH"))]
                # One of them is the test's own, for the member.
                counted.append(len(reads) - 1)
            counts.append(min(counted))
            self.assertLessEqual(min(rows_counted), 2)
        self.assertEqual(counts, [3, 3])

    def test_the_projects_template_draws_cards_and_escapes(self):
        Order.objects.filter(number=103).update(comment="<b>")
        with with_template("<b>{{ order.number }}</b> {{ order.comment }} {{ label }} {{ order.customer.name }}"):
            (shown,) = self.shown(self.asked("get_order", id=str(self.acme.rows["Order"][3].pk)))
        html = shown["rows"][0]["html"]
        self.assertEqual(html, "<b>103</b> &lt;b&gt; 103 of acme-customer-3 acme-customer-3")
        # The encoder of events takes no subclass of str.
        self.assertIs(type(html), str)

    def test_a_template_that_would_query_for_each_row_gives_way(self):
        with with_template("{{ order.lines.all.0.article }}"), self.assertLogs("assistant", "WARNING"):
            (shown,) = self.shown(self.asked("find_orders", size=2))
        self.assertNotIn("html", shown["rows"][0])

    def test_figures_are_those_of_the_tool(self):
        run = self.asked("summarise_orders", measure="sum", of="total", group_by=["status"])
        (shown,) = self.shown(run)
        self.assertEqual(
            (shown["type"], shown["measure"], shown["of"], shown["isOverTime"]), ("figures", "sum", "Total", False)
        )
        self.assertEqual(
            {group["names"][0]: group["value"] for group in shown["groups"]},
            {"Paid": "220", "Waiting for payment": "180", "On its way": "150"},
        )
        self.assertEqual(self.shown(self.asked("summarise_orders", measure="count")), [])


class CsvTests(ResultTests):
    def test_all_rows_of_the_same_query_and_how_many_there_are(self):
        answer = self.csv(self.asked("find_orders", size=2, page=2, where={"status": {"is": "paid"}}))
        rows = list(csv.reader(io.StringIO(answer.content.decode())))
        self.assertEqual(rows[0][:4], ["id", "label", "number", "status"])
        self.assertEqual([row[2] for row in rows[1:]], ["110", "107", "104", "101"])
        self.assertEqual(answer["Assistant-Rows"], "4/4")

    def test_it_is_bounded_and_says_so(self):
        run = self.asked("find_orders")
        with mock.patch.object(csv_rows, "MAX_ROWS", 3):
            answer = self.csv(run)
        self.assertEqual((answer["Assistant-Rows"], answer.content.count(b"\r\n")), ("3/11", 4))

    def test_others_and_other_companies_do_not_find_it(self):
        run = self.asked("find_orders")
        self.assertEqual(self.csv(run).status_code, 200)
        for person, company in ((self.both, "acme"), (self.both, "globex"), (self.ada, "globex")):
            self.assertEqual(self.csv(run, person, company).status_code, 404)
        ToolSetting.objects.filter(tenant__slug="acme", tool="find_orders").update(policy="off")
        self.assertEqual(self.csv(run).status_code, 404)

    def test_formulas_are_text(self):
        for text in ("=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", " =1", "|x"):
            self.assertEqual(cell(text), f"'{text}")
        for value in ("-5.00", "+3", "Ada", 5, "a=b"):
            self.assertEqual(cell(value), value)
        self.assertEqual(cell(None), "")
