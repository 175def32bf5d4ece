"""Twenty questions of people of the warehouse, each with the call that answers it and what is right."""

import datetime as dt

from django.contrib.auth.models import User
from django.test import TestCase

from stock.models import Company, Country, Customer, Delivery, Item, Seat
from tests.host_project.questions import Question, QuestionsMixin, found, summed

REFUSED = "There is no delivery with this id among those that you can see."
# The question, the tool, its arguments, the column that is read, and its values.
FOUND = [
    ("Which deliveries are open?", "deliverys", {"where": {"status": {"is": "open"}}}, "number", [1, 3, 5]),
    ("Which are not?", "deliverys", {"where": {"status": {"is_not": "open"}}}, "number", [2, 4, 6]),
    ("Which weigh more than 40?", "deliverys", {"where": {"weight": {"at_least": 40.01}}}, "number", [5, 6]),
    ("Which weigh 10 to 30?", "deliverys", {"where": {"weight": {"at_least": 10, "at_most": 30}}}, "number", [1, 2, 3]),
    ("What left on 3 May?", "deliverys", {"where": {"left_on": {"on": "2031-05-03"}}}, "number", [3]),
    ("What left since 5 May?", "deliverys", {"where": {"left_on": {"from": "2031-05-05"}}}, "number", [5, 6]),
    ("What went to Ann?", "deliverys", {"where": {"customer__name": {"is": "ann"}}}, "number", [1, 3, 5]),
    ("Where is the fragile one?", "deliverys", {"search": "fragile"}, "number", [2]),
    ("Which is the heaviest?", "deliverys", {"order_by": "-weight", "size": 1}, "number", [6]),
    ("Which have no note?", "deliverys", {"where": {"note": {"empty": True}}}, "number", [1, 3, 4, 5, 6]),
    ("What has gone to Eve, of Globex?", "deliverys", {"where": {"customer__name": {"is": "eve"}}}, "number", []),
    ("Who is in Austria?", "customers", {"where": {"country__name": {"is": "Austria"}}}, "name", ["Ann"]),
    ("Whose address begins with bob?", "customers", {"where": {"email": {"starts_with": "bob"}}}, "name", ["Bob"]),
    ("What do we have less than 5 of?", "items", {"where": {"pieces": {"at_most": 5}}}, "title", ["Chair"]),
    ("Which items are public?", "items", {"where": {"is_public": {"is": True}}}, "title", ["Table"]),
]
SUMMED = [
    ("How many are there?", "deliverys", {"measure": "count"}, {"count": 6}),
    ("What do they weigh?", "deliverys", {"measure": "sum", "of": "weight"}, {"count": 6, "sum": "210"}),
    (
        "What does each customer's weigh?",
        "deliverys",
        {"measure": "sum", "of": "weight", "group_by": ["customer__name"]},
        {"Bob": "120", "Ann": "90"},
    ),
    (
        "How many left each month?",
        "deliverys",
        {"measure": "count", "group_by": ["left_on.month"]},
        {"2031-05": 6},
    ),
]


class QuestionTests(QuestionsMixin, TestCase):
    @classmethod
    def setUpTestData(cls):
        austria = Country.objects.create(name="Austria")
        cls.companies = {}
        for slug, names in (("acme", ("Ann", "Bob")), ("globex", ("Eve", "Mal"))):
            company = Company.objects.create(slug=slug, name=slug)
            user = User.objects.create(username=slug)
            Seat.objects.create(company=company, user=user, role="member")
            people = [
                Customer.objects.create(
                    company=company, name=name, email=f"{name.lower()}@x.example", api_key="hidden",
                    country=austria if name in ("Ann", "Eve") else None,
                )
                for name in names
            ]  # fmt: skip
            items = [
                Item.objects.create(company=company, sku=f"{slug}-1", title="Chair", pieces=3),
                Item.objects.create(company=company, sku=f"{slug}-2", title="Table", pieces=30, is_public=True),
            ]
            first = 0 if slug == "acme" else 100
            for number in range(1, 7):
                Delivery.objects.create(
                    customer=people[(number + 1) % 2], item=items[number % 2], number=first + number,
                    weight=number * 10, status="open" if number % 2 else "sent",
                    note="Fragile!" if number == 2 else "", left_on=dt.date(2031, 5, number),
                )  # fmt: skip
            cls.companies[slug] = (company, user)

    def test_twenty_questions_are_answered(self):
        foreign = Delivery.objects.get(number=101).pk
        refusal = Question("Show me Globex's delivery", "get_delivery", {"id": foreign}, REFUSED)
        questions = [*found(FOUND), *summed(SUMMED), refusal]
        self.assertEqual(len(questions), 20)
        self.ask_all(*self.companies["acme"], questions)
