"""What the tools over the shop's models give, to whom, and what they do not."""

import json
from contextlib import contextmanager

from assistant.contrib.data.models import ReachReview
from assistant.contrib.data.services import plans, rows
from assistant.contrib.data.services.reading import NoQuery
from assistant.contrib.data.services.structure import structure
from assistant.core.values.messages import Message, ToolCall
from assistant.models import AuditEntry, Membership, Tenant, ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.core.values.untrusted import ReadText
from assistant.testing import AssistantTestMixin, ToolTester
from assistant.toolkit import Registry, ToolError, tool
from dataclasses import replace
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import connection
from django.test import TestCase, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from orders.models import Customer, Order, Seat
from staged import context_for, stage


class ShopTests(TestCase):
    """Two companies; `ask` calls a tool as one of Acme's people."""

    @classmethod
    def setUpTestData(cls):
        cls.staged = stage()
        cls.acme = cls.staged["acme"]
        cls.globex = cls.staged["globex"]
        cls.ada, cls.both, cls.staff = cls.acme.people

    def ask(self, name, person=None, company="acme", **arguments):
        tester = ToolTester(
            catalogue.registry().get(name), tenant=self.staged[company].company, user=person or self.ada
        )
        return json.loads(tester.run(**arguments).content)

    def refused(self, name, **arguments):
        with self.assertRaises(ToolError) as caught:
            self.ask(name, **arguments)
        return str(caught.exception)

    def numbers(self, **arguments):
        return [row["number"] for row in self.ask("find_orders", **arguments)["rows"]]

    @contextmanager
    def changed(self, **options):
        """Let the model Customer be exposed otherwise."""
        before = plans.plan_for(Customer)
        exposure = replace(before.exposure, **options)
        yield plans.plan_of(exposure)


class FindTests(ShopTests):
    def test_rows_have_an_id_a_label_a_link_and_the_fields_that_are_named(self):
        row = self.ask("find_orders", where={"number": {"is": 103}})["rows"][0]
        order = self.acme.rows["Order"][3]
        self.assertEqual(
            row,
            {
                "id": str(order.pk),
                "label": "103 of acme-customer-3",
                "link": f"/orders/{order.pk}/",
                "number": 103,
                "status": "open",
                "total": "30.00",
                "is_gift": False,
                "placed_at": "2031-02-04T00:30:00+01:00",
                "due_on": "2031-03-04",
                "comment": "acme-comment-3",
                "customer": str(order.customer_id),
                "customer__name": "acme-customer-3",
                "customer__country__name": "Germany",
                "seller__email": "ada@acme.example",
            },
        )

    def test_a_date_is_a_day_of_the_tenants_time_zone(self):
        self.assertEqual(self.numbers(where={"placed_at": {"on": "2031-02-04"}}), [103])
        self.assertEqual(self.numbers(where={"placed_at": {"from": "2031-02-03T23:31:00Z", "to": "2031-02-05"}}), [104])
        self.assertIn("must have the form", self.refused("find_orders", where={"placed_at": {"from": "soon"}}))

    def test_conditions_are_of_the_kind_of_the_column(self):
        self.assertEqual(sorted(self.numbers(where={"status": {"in": ["paid"]}})), [101, 104, 107, 110])
        self.assertEqual(self.numbers(where={"total": {"at_least": 99.5}}), [110])
        self.assertEqual(self.numbers(where={"comment": {"contains": "COMMENT-7"}}), [107])
        self.assertEqual(self.numbers(where={"customer": {"empty": True}}), [100])

    def test_rows_are_found_by_related_rows_of_which_they_have_many(self):
        self.assertEqual(sorted(self.numbers(where={"lines__pieces": {"is": 3}})), [103, 108])

    def test_a_search_looks_into_texts_of_related_rows_too(self):
        self.assertEqual(sorted(self.numbers(search="acme-customer-1")), [101, 105, 109])

    def test_pages_follow_each_other_without_a_gap(self):
        first = self.ask("find_orders", size=6, order_by="number")
        self.assertIn("page 2", first["more"])
        second = self.ask("find_orders", size=6, page=2, order_by="number")
        self.assertNotIn("more", second)
        self.assertEqual([row["number"] for row in first["rows"] + second["rows"]], list(range(100, 111)))

    @override_settings(ASSISTANT_DATA_BYTES=1000)
    def test_rows_stop_at_a_size_and_say_so(self):
        answer = self.ask("find_orders")
        self.assertEqual(len(answer["rows"]), 2)
        self.assertIn("Only 2 rows fit", answer["more"])

    def test_no_more_queries_with_more_rows(self):
        counts = {}
        for name, sizes in {"find_orders": (1, 10), "find_lines": (1, 10), "find_payments": (1, 10)}.items():
            for size in sizes:
                with CaptureQueriesContext(connection) as queries:
                    self.ask(name, size=size)
                reads = [one["sql"] for one in queries if one["sql"].startswith(("SELECT", "EXPLAIN"))]
                # One of them is the test's own, for the context.
                counts[name, size] = len(reads) - 1
        self.assertLessEqual(max(counts.values()), 3, counts)
        self.assertEqual({counts[name, 1] - counts[name, 10] for name, _ in counts}, {0})

    def test_no_column_is_read_that_is_not_shown(self):
        with CaptureQueriesContext(connection) as queries:
            self.ask("find_orders")
            self.ask("get_order", id=str(self.acme.rows["Order"][1].pk))
        for column in ("margin", "api_key", "portal_token", "credit_note"):
            self.assertNotIn(column, " ".join(one["sql"] for one in queries))


class IsolationTests(ShopTests):
    def test_a_related_row_of_another_tenant_is_not_there(self):
        foreign = self.globex.rows["Customer"][0]
        row = self.ask("find_orders", where={"number": {"is": 100}})["rows"][0]
        self.assertEqual([row[name] for name in row if name.startswith(("customer", "seller"))], [None] * 4)
        self.assertEqual(row["label"], "100 of None")
        self.assertEqual(self.numbers(where={"customer": {"is": str(foreign.pk)}}), [])
        self.assertEqual(self.numbers(where={"customer__name": {"starts_with": "globex"}}), [])
        self.assertEqual(self.numbers(search="globex"), [])

    def test_who_is_in_two_tenants_sees_the_chats_alone_and_so_do_staff(self):
        for person in (self.both, self.staff):
            for company in self.staged:
                told = self.ask("find_customers", person, company)
                self.assertEqual({row["name"].split("-")[0] for row in told["rows"]}, {company})

    def test_absent_and_foreign_are_told_the_same(self):
        foreign = str(self.globex.rows["Order"][1].pk)
        absent = "00000000-0000-4000-8000-000000000000"
        deleted = str(self.acme.rows["Order"][-1].pk)
        told = {self.refused("get_order", id=key) for key in (foreign, absent, deleted, "no key")}
        self.assertEqual(len(told), 1)

    def test_what_the_default_manager_hides_is_hidden(self):
        self.assertEqual(self.numbers(where={"number": {"is": 111}}), [])
        line = self.ask("find_lines", where={"order__number": {"is": 110}})["rows"][0]
        self.assertEqual(line["order__number"], 110)
        self.assertEqual(self.ask("find_lines", where={"order__number": {"is": 111}})["rows"], [])

    def test_visible_to_narrows_the_model_and_what_leads_to_it(self):
        self.assertEqual(self.ask("find_customers", search="Hidden")["rows"], [])
        hidden = Customer.objects.get(name="Hidden", company=self.acme.company)
        Order.objects.filter(pk=self.acme.rows["Order"][1].pk).update(customer=hidden)
        row = self.ask("find_orders", where={"number": {"is": 101}})["rows"][0]
        self.assertIsNone(row["customer__name"])

    def test_visible_to_cannot_widen(self):
        for widest in (lambda rows, context: Customer.objects.all(), lambda rows, context: Customer.objects.all()[:99]):
            with self.changed(visible_to=widest) as plan:
                told = json.loads(rows.find(plan, {}, context_for("acme", self.ada)).content)
                self.assertEqual({row["name"].split("-")[0] for row in told["rows"]}, {"acme", "Hidden"})

    def test_a_view_permission_counts_where_somebody_has_it(self):
        self.assertEqual(len(self.numbers()), 11)
        group = Group.objects.create(name="sales")
        group.permissions.add(Permission.objects.get(codename="view_order"))
        self.assertIn("lacks the permission", self.refused("find_orders"))
        self.assertIn("lacks the permission", self.refused("summarise_orders", measure="count"))
        self.ada.groups.add(group)
        self.assertEqual(len(self.numbers()), 11)

    def test_end_users_see_nothing_unless_they_may(self):
        Membership.objects.filter(user=self.ada).update(role=Membership.Role.END_USER)
        self.assertEqual(self.ask("find_payments")["rows"], [])

    def test_object_permissions_are_asked_for_each_row(self):
        with self.changed(object_permissions=True) as plan:
            self.assertEqual(plan.tools, ("find_customers", "get_customer"))
            context = context_for("acme", self.ada)
            self.assertEqual(json.loads(rows.find(plan, {}, context).content)["rows"], [])
            told = json.loads(rows.find(plan, {}, context_for("acme", self.staff)).content)
            self.assertEqual(len(told["rows"]), 4)

    def test_the_admins_rows_are_asked_for_as_the_member(self):
        with self.changed(admin_queryset=True) as plan:
            self.assertEqual(json.loads(rows.find(plan, {}, context_for("acme", self.ada)).content)["rows"], [])
            told = json.loads(rows.find(plan, {}, context_for("acme", self.staff)).content)
            self.assertEqual({row["name"] for row in told["rows"]}, {"acme-customer-1"})

    def test_a_rule_cannot_write(self):
        def writes(customers, context):
            Customer.objects.update(name="gone")
            return customers

        with self.changed(visible_to=writes) as plan, self.assertRaises(NoQuery):
            rows.find(plan, {}, context_for("acme", self.ada))
        self.assertFalse(Customer.objects.filter(name="gone").exists())

    def test_a_person_who_moves_to_another_company_leaves_the_first(self):
        seat = Seat.objects.get(person=self.ada)
        seat.company = self.globex.company
        seat.save()
        memberships = Membership.objects.filter(user=self.ada)
        self.assertEqual(list(memberships.values_list("tenant__slug", flat=True)), ["globex"])


class SummaryTests(ShopTests):
    def test_rows_are_counted_and_summed_by_groups_and_periods(self):
        self.assertEqual(self.ask("summarise_orders", measure="count"), {"count": 11})
        told = self.ask("summarise_orders", measure="sum", of="total", group_by=["placed_at.month", "status"])
        self.assertEqual(told["groups"][0], {"placed_at.month": "2031-02", "status": "open", "count": 4, "sum": "180"})
        self.assertEqual((told["count"], told["sum"]), (11, "550"))

    def test_the_largest_group_is_first(self):
        told = self.ask("summarise_orders", measure="maximum", of="total", group_by=["customer__name"])
        self.assertEqual(told["groups"][0], {"customer__name": "acme-customer-2", "count": 3, "maximum": "100"})
        self.assertIn({"customer__name": None, "count": 1, "maximum": "0"}, told["groups"])

    def test_a_sum_names_its_column(self):
        self.assertIn('"of"', self.refused("summarise_orders", measure="sum"))


class OfferTests(ShopTests):
    def test_secret_columns_and_models_without_a_tenant_are_not_offered(self):
        order = plans.plan_for(Order)
        self.assertEqual([(one.name, one.reason) for one in order.left_out], [("api_key", "it looks secret")])
        self.assertNotIn("find_strays", catalogue.registry())
        with self.assertRaisesMessage(Exception, "Stray is not offered"):
            call_command("check", fail_level="WARNING")

    def test_personal_columns_are_guessed(self):
        personal = {plan.label: [column.name for column in plan.personal] for plan in plans.plans() if plan.personal}
        self.assertEqual(
            personal,
            {
                "orders.Order": ["customer__name", "seller__email"],
                "orders.Customer": ["name", "email"],
                "orders.Line": ["order__customer__name"],
                "orders.Payment": ["iban"],
            },
        )

    def test_choices_and_fields_are_enums(self):
        parameters = catalogue.registry().get("find_orders").parameters["properties"]
        self.assertEqual(
            parameters["where"]["properties"]["status"]["properties"]["is"]["enum"], ["open", "paid", "sent"]
        )
        self.assertIn("-placed_at", parameters["order_by"]["enum"])
        self.assertIn("As printed on the bill", parameters["where"]["properties"]["number"]["description"])

    def test_tools_are_off_until_they_are_switched_on_and_need_no_confirmation(self):
        self.assertEqual(self.policies()["find_orders"], "off")
        tenant = Tenant.objects.get(slug="acme")
        ToolSetting.objects.create(tenant=tenant, tool="find_orders", policy="on")
        self.assertEqual(self.policies()["find_orders"], "on")

    def policies(self):
        tenant = Tenant.objects.get(slug="acme")
        found = effective_tools(tenant_id=tenant.pk, user_id=self.ada.pk, assistant_id=None)
        return {entry.tool.name: entry.policy for entry in found}


@tool(enabled_by_default=True)
def send_letter(to: str, text: str) -> str:
    """Send a letter."""
    return "sent"


@tool(enabled_by_default=True, open_world=False)
def note_inside(text: str) -> str:
    """Keep a note here."""
    return "noted"


class ReadOnlyTests(ShopTests):
    def entry(self, name):
        tenant = Tenant.objects.get(slug="acme")
        with catalogue.using(Registry([*catalogue.registry(), send_letter, note_inside])):
            found = effective_tools(tenant_id=tenant.pk, user_id=self.ada.pk, assistant_id=None)
        return next(entry for entry in found if entry.tool.name == name)

    def test_nothing_with_an_effect_runs_until_an_operator_has_confirmed_the_reach(self):
        self.assertEqual(self.entry("send_letter").policy, "off")
        self.assertIn("not confirmed", self.entry("send_letter").switched_off.for_people)
        call_command("assistant_reach", "--confirm", verbosity=0)
        self.assertEqual(self.entry("send_letter").policy, "on")
        call_command("assistant_reach", "--read-only", verbosity=0)
        self.assertIn("read only", self.entry("send_letter").rule)
        self.assertEqual(
            list(AuditEntry.objects.filter(action__startswith="data.").values_list("action", flat=True).order_by("pk")),
            ["data.confirm", "data.read_only"],
        )


class PersonalValueTests(AssistantTestMixin, ShopTests):
    def setUp(self):
        call_command("assistant_reach", "--confirm", verbosity=0)

    async def admitted(self, name, **arguments):
        tenant = await Tenant.objects.aget(slug="acme")
        read = {"rows": [{"id": "1", "number": 4711, "customer__name": "Ada Lovelace", "seller__email": "b@x.example"}]}
        messages = [
            Message("user", "Write to Ada Lovelace"),
            Message("assistant", "", tool_calls=(ToolCall("c", "find_orders", "{}"),)),
            Message("tool", json.dumps(read), tool_call_id="c"),
        ]
        with catalogue.using(Registry([*catalogue.registry(), send_letter, note_inside])):
            toolset = TenantToolset(tenant_id=tenant.pk, user_id=self.ada.pk, assistant_id=None)
            call = ToolCall("d", name, json.dumps(arguments))
            (admission,) = await toolset.admit([call], ReadText.of(messages))
        return admission

    async def test_a_personal_value_leaves_only_when_a_person_has_been_asked(self):
        admission = await self.admitted("send_letter", to="ada lovelace, London", text="Hello")
        self.assertEqual(admission.policy, "ask")
        self.assertIn("“ada lovelace” is personal data (customer__name)", admission.warning)

    async def test_other_values_and_tools_that_stay_inside_are_not_asked_about(self):
        self.assertEqual((await self.admitted("send_letter", to="the shop", text="order 4711")).policy, "on")
        self.assertEqual((await self.admitted("note_inside", text="Ada Lovelace")).policy, "on")


class ReachPageTests(ShopTests):
    PAGE = "admin:assistant_data_reachreview_changelist"

    def test_an_operator_sees_counts_of_both_tenants_and_confirms(self):
        self.client.force_login(self.staff)
        page = self.client.get(reverse(self.PAGE))
        self.assertContains(page, "not confirmed")
        self.assertContains(page, "orders.Stray")
        self.assertContains(page, "Of what is seen, 0 belong to Globex.")
        self.assertContains(page, "api_key: it looks secret")
        self.client.post(reverse("admin:data_review"), {"decision": "confirm"})
        self.assertNotContains(self.client.get(reverse(self.PAGE)), "not confirmed")
        self.assertEqual(ReachReview.objects.get().user, self.staff)

    def test_sample_rows_need_a_reason_which_is_audited(self):
        self.client.force_login(self.staff)
        address = reverse(self.PAGE)
        without = self.client.post(address, {"model": "orders.Payment", "reason": " "})
        self.assertNotContains(without, "acme-iban")
        page = self.client.post(address, {"model": "orders.Payment", "reason": "review"})
        self.assertContains(page, "acme-iban")
        self.assertNotContains(page, "globex-iban")
        entry = AuditEntry.objects.get(action="data.sample")
        self.assertEqual((entry.target, entry.details["reason"]), ("orders.Payment", "review"))

    def test_the_same_as_json(self):
        self.client.force_login(self.staff)
        told = self.client.get(reverse("admin:data_reach_json")).json()
        self.assertEqual(told["models"]["orders.Payment"]["path"], "payer")
        rows = told["models"]["orders.Order"]["rows"]
        self.assertEqual(rows, {"seen": 11, "tenant": 12, "other_tenant": 12, "in_both": 0})

    def test_what_has_changed_since_a_review_is_told(self):
        ReachReview.objects.create(is_read_only=False, reach={"orders.Gone": {"path": "x"}})
        self.client.force_login(self.staff)
        page = self.client.get(reverse(self.PAGE))
        self.assertContains(page, "orders.Gone is no longer there.")
        self.assertContains(page, "orders.Order is new.")

    def test_of_a_list_what_came_and_what_went_is_told_and_not_the_whole_of_it(self):
        before = structure()
        before["orders.Payment"] |= {"fields": ["amount", "fee"], "path": "company"}
        ReachReview.objects.create(is_read_only=False, reach=before)
        self.client.force_login(self.staff)
        page = self.client.get(reverse(self.PAGE))
        self.assertContains(page, "orders.Payment, Columns: + iban, − fee")
        self.assertContains(page, "orders.Payment, Path to the tenant: company → payer")

    def test_nobody_else_may_open_it(self):
        self.ada.is_staff = True
        self.ada.save()
        self.client.force_login(self.ada)
        for address in (reverse(self.PAGE), reverse("admin:data_reach_json")):
            self.assertEqual(self.client.get(address).status_code, 403)
        self.assertEqual(self.client.post(reverse("admin:data_review"), {"decision": "confirm"}).status_code, 403)
        self.assertFalse(ReachReview.objects.exists())
