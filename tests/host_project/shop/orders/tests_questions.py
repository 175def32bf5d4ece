"""Twenty questions of people of the shop, each with the call that answers it and what is right."""

from orders.tests import ShopTests
from tests.host_project.questions import Question, QuestionsMixin, found, summed

REFUSED = "There is no order with this id among those that you can see."
# The question, the arguments of the tool, and the numbers of the right orders.
FOUND = [
    ("Which orders are paid?", {"where": {"status": {"is": "paid"}}}, [101, 104, 107, 110]),
    ("Which orders are of 80 and more?", {"where": {"total": {"at_least": 80}}}, [108, 109, 110]),
    ("What was ordered on 4 February?", {"where": {"placed_at": {"on": "2031-02-04"}}}, [103]),
    ("What is due by 3 March?", {"where": {"due_on": {"to": "2031-03-03"}}}, [100, 101, 102]),
    (
        "What has customer 2 ordered?",
        {"where": {"customer__name": {"is": "acme-customer-2"}}},
        [102, 106, 110],
    ),
    (
        "Which orders come from Germany?",
        {"where": {"customer__country__name": {"is": "germany"}}},
        [101, 103, 105, 107, 109],
    ),
    (
        "Which of customer 3 wait for payment?",
        {"where": {"customer__name": {"is": "acme-customer-3"}, "status": {"is": "open"}}},
        [103],
    ),
    ("Which have a line of four pieces?", {"where": {"lines__pieces": {"is": 4}}}, [104, 109]),
    ("Where did we note comment 7?", {"search": "comment-7"}, [107]),
    ("Which order is the largest?", {"order_by": "-total", "size": 1}, [110]),
    ("What have Globex's customers ordered?", {"where": {"customer__name": {"contains": "globex"}}}, []),
]
# The question, what is summed, the arguments, and the right figures.
SUMMED = [
    ("How many orders are there?", "orders", {"measure": "count"}, {"count": 11}),
    (
        "How many are there of each status?",
        "orders",
        {"measure": "count", "group_by": ["status"]},
        {"open": 4, "paid": 4, "sent": 3},
    ),
    (
        "What was ordered in February?",
        "orders",
        {"measure": "sum", "of": "total", "where": {"placed_at": {"from": "2031-02-01", "to": "2031-02-28"}}},
        {"count": 11, "sum": "550"},
    ),
    (
        "What was ordered each week?",
        "orders",
        {"measure": "sum", "of": "total", "group_by": ["placed_at.week"]},
        {"2031-01-27": "10", "2031-02-03": "350", "2031-02-10": "190"},
    ),
    ("What is an order's average?", "orders", {"measure": "average", "of": "total"}, {"count": 11, "average": "50"}),
    (
        "And by country?",
        "orders",
        {"measure": "average", "of": "total", "group_by": ["customer__country__name"]},
        {"Austria": "60", "Germany": "50", None: "0"},
    ),
    (
        "How many pieces were ordered?",
        "lines",
        {"measure": "sum", "of": "pieces", "where": {"order__number": {"at_least": 100}}},
        {"count": 11, "sum": 20},
    ),
]


class QuestionTests(QuestionsMixin, ShopTests):
    def test_twenty_questions_are_answered(self):
        foreign = str(self.globex.rows["Order"][1].pk)
        questions = [
            *found([(text, "orders", arguments, "number", expected) for text, arguments, expected in FOUND]),
            *summed(SUMMED),
            *found([("Who is in Austria?", "customers", {"where": {"country__code": {"is": "AT"}}}, "name",
                     ["acme-customer-0", "acme-customer-2"])]),
            Question("Show me Globex's order", "get_order", {"id": foreign}, REFUSED),
        ]  # fmt: skip
        self.assertEqual(len(questions), 20)
        self.ask_all(self.acme.company, self.ada, questions)
