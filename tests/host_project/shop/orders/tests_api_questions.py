"""Twenty questions of people of the shop, each with the call of its API that answers it and what is right."""

from django.core.management import call_command
from orders.models import Order
from orders.tests import ShopTests
from tests.host_project.questions import Question, QuestionsMixin, column

REFUSED = "There is no such row among those that the user can see."
# The question, the parameters of the list of orders, and the numbers of the right ones.
FOUND = [
    ("Which orders are paid?", {"status": "paid"}, [101, 104, 107, 110]),
    ("Which orders are of 80 and more?", {"total__gte": "80"}, [108, 109, 110]),
    ("What was ordered on 3 February?", {"placed_at__date": "2031-02-03"}, [103]),
    ("What was ordered since 8 February?", {"placed_at__gte": "2031-02-08T00:00:00Z"}, [108, 109, 110]),
    ("What is due by 3 March?", {"due_on__lte": "2031-03-03"}, [100, 101, 102]),
    ("What has customer 2 ordered?", {"customer__name": "acme-customer-2"}, [102, 106, 110]),
    ("Which orders come from Germany?", {"customer__country__name": "Germany"}, [101, 103, 105, 107, 109]),
    ("Which of customer 3 wait?", {"customer__name": "acme-customer-3", "status": "open"}, [103]),
    ("Which have a line of four pieces?", {"lines__pieces": "4"}, [104, 109]),
    ("Where did we note comment 7?", {"search": "comment-7"}, [107]),
    ("Which are the five largest orders?", {"ordering": "-total"}, [106, 107, 108, 109, 110]),
    ("What has Globex's customer 1 ordered?", {"customer__name": "globex-customer-1"}, []),
]


def sums_by(key):
    return lambda told: {row[key]: (row["count"], row["sum"]) for row in told}


class QuestionTests(QuestionsMixin, ShopTests):
    def test_twenty_questions_are_answered(self):
        foreign = str(self.globex.rows["Order"][1].pk)
        own = self.acme.rows["Order"][4]
        customers = column("name", "results")
        questions = [
            *(
                Question(text, "list_api_orders", arguments, numbers, column("number", "results"))
                for text, arguments, numbers in FOUND
            ),
            Question(
                "What do the orders of each status come to?", "totals_api_orders", {"by": "status"},
                {"open": (3, 180), "paid": (4, 220), "sent": (3, 150)}, sums_by("status"),
            ),
            Question(
                "What does each customer's come to?", "totals_api_orders", {"by": "customer__name"},
                {"acme-customer-0": (2, 120), "acme-customer-1": (3, 150), "acme-customer-2": (3, 180),
                 "acme-customer-3": (2, 100)},
                sums_by("customer__name"),
            ),
            Question("What have I sold?", "mine_api_orders", {}, list(range(101, 111)), column("number")),
            Question(
                "Who is in Austria?", "list_api_customers", {"country__code": "at"},
                ["acme-customer-0", "acme-customer-2"], customers,
            ),
            Question(
                "What has customer 0 ordered?", "list_api_customers", {"search": "customer-0"}, [[104, 108]],
                lambda told: [sorted(order["number"] for order in row["orders"]) for row in told["results"]],
            ),
            Question(
                "Who is written to in spring?", "list_api_campaigns", {"begins_on__gte": "2031-01-01"},
                [["acme-customer-0", "acme-customer-1"], []],
                lambda told: [sorted(row["customer_names"]) for row in told],
            ),
            Question("Show me Globex's order", "retrieve_api_order", {"id": foreign}, REFUSED),
            Question(
                "Mark order 104 as sent", "close_api_order", {"id": str(own.pk)}, {"status": "sent"}, asks_first=True
            ),
        ]  # fmt: skip
        self.assertEqual(len(questions), 20)
        call_command("assistant_reach", confirm=True, verbosity=0)
        self.ask_all(self.acme.company, self.ada, questions)
        self.assertEqual(Order.objects.get(pk=own.pk).status, "sent")
