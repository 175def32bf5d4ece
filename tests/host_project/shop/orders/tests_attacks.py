"""What somebody with a member's rights in one company tries, by what the model can be told to ask for."""

import json
import time
from unittest import mock

from assistant.contrib.data.exposing import Exposure
from assistant.contrib.data.services import references, rows
from assistant.contrib.data.services.plans import plan_of
from assistant.contrib.data.services.rows import RowTexts
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester
from assistant.toolkit import ToolError
from orders.models import Customer, Order, Voucher, Wholesaler
from orders.tests import ShopTests
from orders.tests_rows import RowTests
from staged import context_for

# Arguments that name what is not offered.
SMUGGLED = [
    ("find_orders", {"where": {"company__slug": {"is": "globex"}}}),
    ("find_orders", {"where": {"margin": {"at_least": 1}}}),
    ("find_orders", {"where": {"api_key": {"starts_with": "h"}}}),
    ("find_orders", {"where": {"number": {"gt": 1}}}),
    ("find_orders", {"where": {"number": {"is": {"$ne": 1}}}}),
    ("find_orders", {"where": {"customer__name__icontains": {"is": "a"}}}),
    ("find_orders", {"where": {"customer__portal_token": {"is": "hidden"}}}),
    ("find_orders", {"where": {"lines__order__company__slug": {"is": "globex"}}}),
    ("find_orders", {"where": {"customer__company__customer__order__lines__order__total": {"is": 1}}}),
    ("find_orders", {"order_by": "api_key"}),
    ("find_orders", {"order_by": "margin"}),
    ("find_orders", {"order_by": "?"}),
    ("find_orders", {"order_by": "customer__company__slug"}),
    ("find_orders", {"tenant": "globex"}),
    ("find_orders", {"page": 0}),
    ("find_orders", {"page": -1}),
    ("find_orders", {"page": 101}),
    ("find_orders", {"size": 51}),
    ("find_orders", {"size": -1}),
    ("find_orders", {"search": "x" * 201}),
    ("find_orders", {"where": {"customer": {"in": ["x"] * 51}}}),
    ("get_order", {"id": ["x"]}),
    ("get_order", {"id": "x" * 201}),
    ("summarise_orders", {"measure": "sum", "of": "margin"}),
    ("summarise_orders", {"measure": "count", "group_by": ["api_key"]}),
    ("summarise_orders", {"measure": "count", "group_by": ["company__slug"]}),
    ("summarise_orders", {"measure": "count", "group_by": ["comment.day"]}),
    ("summarise_orders", {"measure": "count", "group_by": ["status", "placed_at.day", "number"]}),
]
# Values that fit the schema, and that databases or Python stumble over. Each is answered, or refused in a sentence.
ODD = [
    ("find_orders", {"search": "\ud800"}),
    ("find_orders", {"search": "%"}),
    ("find_orders", {"search": "_"}),
    ("find_orders", {"search": "\\"}),
    ("find_orders", {"search": "\u202e\u0130\u00df\ufdfa"}),
    ("find_orders", {"where": {"comment": {"is": "\udfff"}}}),
    ("find_orders", {"where": {"customer": {"is": "\ud800"}}}),
    ("find_orders", {"where": {"number": {"is": 10**400}}}),
    ("find_orders", {"where": {"number": {"at_least": -(10**30)}}}),
    ("find_orders", {"where": {"number": {"is": 1e300}}}),
    ("find_orders", {"where": {"total": {"at_most": 1e-300}}}),
    ("find_orders", {"where": {"placed_at": {"from": "9999-12-31T23:59:59-23:59"}}}),
    ("find_orders", {"where": {"placed_at": {"to": "0001-01-01T00:00:00+23:59"}}}),
    ("find_orders", {"where": {"placed_at": {"on": "2031-02-30"}}}),
    ("find_orders", {"where": {"due_on": {"on": "0000-01-01"}}}),
    ("find_orders", {"where": {"due_on": {"from": "0001-01-01", "to": "9999-12-31"}}}),
    ("find_orders", {"where": {"placed_at": {"from": "\u0662\u0660\u0663\u0661-01-01"}}}),
    ("find_lines", {"where": {"pieces": {"is": 2**63}}}),
    ("find_lines", {"where": {"pieces": {"at_least": 2**63}}}),
    ("get_line", {"id": 2**70}),
    ("get_line", {"id": -1}),
    ("get_order", {"id": "1 OR 1=1"}),
    ("get_order", {"id": "\ud800"}),
    ("find_orders", {"page": 100, "size": 50}),
]


class ArgumentTests(ShopTests):
    def test_what_is_not_offered_cannot_be_named(self):
        for name, arguments in SMUGGLED:
            with self.subTest(arguments):
                tool = catalogue.registry().get(name)
                with self.assertRaises(ToolError):
                    tool.check(json.dumps(arguments))

    def test_odd_values_are_answered_or_refused_in_a_sentence(self):
        for name, arguments in ODD:
            with self.subTest(json.dumps(arguments)[:80]):
                try:
                    told = self.ask(name, **arguments)
                except ToolError as exc:
                    told = str(exc)
                self.assertNotIn("globex", str(told))

    def test_wildcards_of_the_database_are_letters(self):
        for word in ("%", "_", "\\"):
            self.assertEqual(self.numbers(search=word), [])

    def test_a_hidden_column_cannot_be_guessed_by_its_answers(self):
        # Each letter of a value in a column that is not named would be told apart by one of these.
        for word in ("hidden", "777"):
            for tool in ("find_orders", "find_customers", "find_lines", "find_payments"):
                self.assertEqual(self.ask(tool, search=word)["rows"], [])


class RelationTests(ShopTests):
    """The rule of a model holds for rows that are reached by a proxy of it, or by a model that extends it."""

    def setUp(self):
        hidden = Customer.objects.get(name="Hidden", company=self.acme.company)
        seen = self.acme.rows["Customer"][1]
        secret = Wholesaler(customer_ptr_id=hidden.pk, discount=50)
        secret.__dict__.update(company_id=hidden.company_id, name=hidden.name, email=hidden.email)
        secret.save()
        Voucher.objects.create(company=self.acme.company, holder_id=seen.pk, giver=secret, worth=1)
        Voucher.objects.create(company=self.acme.company, holder_id=hidden.pk, worth=2)
        fields = ("worth", "holder", "holder__name", "giver__name", "giver__discount")
        self.plan = plan_of(Exposure(model=Voucher, fields=fields))

    def found(self, **arguments):
        told = rows.find(self.plan, arguments, context_for("acme", self.ada)).content
        self.assertNotIn("Hidden", told)
        return json.loads(told)["rows"]

    def test_values_of_rows_that_the_member_may_not_see_are_empty(self):
        by_worth = {row["worth"]: row for row in self.found()}
        self.assertEqual(by_worth[1]["holder__name"], "acme-customer-1")
        self.assertEqual([by_worth[1][name] for name in ("giver__name", "giver__discount")], [None, None])
        self.assertEqual([by_worth[2][name] for name in ("holder", "holder__name")], [None, None])

    def test_nor_are_rows_found_by_them(self):
        for where in ({"holder__name": {"starts_with": "Hid"}}, {"giver__discount": {"at_least": 1}}):
            self.assertEqual(self.found(where=where), [])
        self.assertEqual(self.found(search="Hidden"), [])


class LinkTests(ShopTests):
    def test_a_link_stays_on_the_site_or_is_a_whole_address(self):
        texts = RowTexts(plan_of(Exposure(model=Order, fields=("number",))))
        order = self.acme.rows["Order"][1]
        for address, expected in {
            "/orders/1/": "/orders/1/",
            "https://shop.example/1": "https://shop.example/1",
            "//evil.example/": "",
            "/\\evil.example/": "",
            "javascript:alert(1)": "",
        }.items():
            with mock.patch.object(Order, "get_absolute_url", lambda row, address=address: address):
                self.assertEqual(texts.link(order), expected)


class ReferenceTests(RowTests):
    def test_a_reference_ends_after_twelve_hours(self):
        order = self.acme.rows["Order"][3]
        with mock.patch("django.core.signing.time.time", return_value=time.time() - references.LIFETIME_SECONDS - 60):
            old = self.reference(order)
        self.assertEqual(self.labels(reference=old), [])
        model = self.answer("It is paid.")
        with ChatTester(self.acme.company, self.ada, "support") as chat:
            answer = chat.ask("What about this order?", forwardedProps={"rows": [{"reference": old}]})
        self.assertEqual((answer.error, model.requests), ("invalid_input", []))
        self.assertIn("has expired: load the page again", answer.events[-1]["message"])

    def test_names_of_rows_are_not_enumerated(self):
        for word in ("hidden", "globex", "%", "_", "777", "ada@globex", "\\", "0"):
            told = self.rows(search=word).json()
            self.assertNotIn("globex", str(told))
            self.assertNotIn("Hidden", str(told))
        self.assertLessEqual(len(self.rows(search="1").json()), 8)
