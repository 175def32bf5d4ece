"""With django-guardian (`guarded_settings`) members read the rows that they were given, by all other rules too."""

from assistant.contrib.data.services import plans
from assistant.services.toolpolicy import catalogue
from django.contrib.auth.models import Group
from django.core.management import call_command
from guardian.shortcuts import assign_perm, remove_perm
from orders.models import Customer, Order
from orders.tests import ShopTests
from orders.tests_results import ResultTests

ABSENT = "00000000-0000-4000-8000-000000000000"


def give(person, *rows):
    """Let somebody, or a group, view single rows."""
    for row in rows:
        assign_perm(f"orders.view_{row._meta.model_name}", person, row)


class GivenRowsTests(ShopTests):
    def test_nobody_but_superusers_reads_a_row_that_they_were_not_given(self):
        self.assertEqual(self.numbers(), [])
        self.assertEqual(len(self.numbers(person=self.staff, size=50)), 11)

    def test_a_member_reads_the_rows_that_they_and_their_groups_were_given(self):
        orders = self.acme.rows["Order"]
        sales = Group.objects.create(name="sales")
        self.ada.groups.add(sales)
        give(self.ada, orders[3])
        give(sales, orders[5])
        give(self.both, orders[7])
        self.assertEqual(sorted(self.numbers()), [103, 105])
        self.assertEqual(self.numbers(where={"status": {"is": "paid"}}), [])
        self.assertEqual(self.ask("get_order", id=str(orders[3].pk))["number"], 103)
        self.assertEqual(self.numbers(person=self.both), [107])

    def test_a_row_that_was_not_given_is_told_like_one_that_is_absent(self):
        give(self.ada, self.acme.rows["Order"][3])
        others = (self.acme.rows["Order"][4].pk, self.globex.rows["Order"][4].pk, ABSENT)
        self.assertEqual(len({self.refused("get_order", id=str(key)) for key in others}), 1)

    def test_a_permission_that_was_taken_back_counts_from_the_next_call_on(self):
        order = self.acme.rows["Order"][3]
        give(self.ada, order)
        self.assertEqual(self.numbers(), [103])
        remove_perm("orders.view_order", self.ada, order)
        self.assertEqual(self.numbers(), [])

    def test_a_permission_opens_no_other_rule(self):
        deleted = Order._base_manager.get(company=self.acme.company, is_deleted=True)
        give(self.ada, self.globex.rows["Order"][4], deleted)
        self.assertEqual(self.numbers(), [])
        hidden = Customer.objects.get(company=self.acme.company, name="Hidden")
        give(self.ada, hidden, self.acme.rows["Customer"][1])
        self.assertEqual([row["name"] for row in self.ask("find_customers")["rows"]], ["acme-customer-1"])

    def test_columns_of_related_rows_are_not_offered_and_a_check_says_so(self):
        give(self.ada, self.acme.rows["Order"][3], self.acme.rows["Order"][3].customer)
        (row,) = self.ask("find_orders")["rows"]
        self.assertNotIn("customer__name", row)
        with self.assertRaisesMessage(Exception, "orders.Order.customer__name is not offered"):
            call_command("check", fail_level="WARNING")

    def test_such_models_are_not_summed(self):
        self.assertNotIn("summarise_orders", catalogue.registry())
        self.assertIn("find_orders", catalogue.registry())
        # Countries are everybody's.
        self.assertIn("summarise_countries", catalogue.registry())
        self.assertTrue(plans.plan_for(Order).uses_object_permissions)


class GivenResultsTests(ResultTests):
    def test_cards_of_rows_that_were_taken_back_are_gone(self):
        orders = self.acme.rows["Order"]
        give(self.ada, orders[3], orders[4])
        run = self.asked("find_orders", order_by="number")
        (shown,) = self.shown(run)
        self.assertEqual(len(shown["rows"]), 2)
        remove_perm("orders.view_order", self.ada, orders[3])
        (shown,) = self.shown(run)
        self.assertEqual([row["id"] for row in shown["rows"]], [str(orders[4].pk)])

    def test_rows_are_offered_by_name_as_they_were_given(self):
        give(self.ada, self.acme.rows["Order"][3])
        self.assertEqual(self.labels(search="acme-comment"), ["103 of None"])
        self.assertEqual(self.labels(self.both, search="acme-comment"), [])
