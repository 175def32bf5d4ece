"""Twenty questions of people of a content site, each with the call that answers it and what is right."""

import datetime as dt

from django.contrib.auth.models import User
from django.test import TestCase

from assistant.contrib.data.services.plans import plan_for
from assistant.hosting import get_host, sync_all
from assistant.services.toolpolicy import catalogue
from assistant.testing import ToolTester
from assistant.toolkit import ToolError
from cms.models import Event, Page, Site, Topic
from tests.host_project.questions import Question, QuestionsMixin, found, summed

REFUSED = "There is no page with this id among those that you can see."
# The question, the tool, its arguments, and the titles of the right pages.
FOUND = [
    ("Which pages are at the top?", "pages", {"where": {"depth": {"is": 1}}}, ["Home"]),
    ("What is below Home?", "pages", {"where": {"parent__title": {"is": "home"}}}, ["About", "Events"]),
    ("What has no page above it?", "pages", {"where": {"parent": {"empty": True}}}, ["Home"]),
    ("What is in the branch 00010002?", "pages",
     {"where": {"path": {"starts_with": "00010002"}, "depth": {"at_least": 3}}}, ["Concert", "Fair", "Lecture"]),
    ("Where do we write about us?", "pages", {"search": "about"}, ["About"]),
    ("What has Ann written?", "pages", {"where": {"author__username": {"is": "acme"}}}, ["About", "Home"]),
    ("What is nobody's?", "pages",
     {"where": {"author__username": {"empty": True}, "depth": {"at_most": 2}}}, ["Events"]),
    ("Which is the last page?", "pages", {"order_by": "-path", "size": 1}, ["Lecture"]),
    ("What takes place in June?", "events", {"where": {"starts_on": {"from": "2031-06-01", "to": "2031-06-30"}}},
     ["Concert", "Fair"]),
    ("And on 1 July?", "events", {"where": {"starts_on": {"on": "2031-07-01"}}}, ["Lecture"]),
    ("What costs nothing?", "events", {"where": {"price": {"is": 0}}}, ["Lecture"]),
    ("What is about music?", "events", {"where": {"topic__name": {"is": "music"}}}, ["Concert"]),
    ("Where is room for 100?", "events", {"where": {"seats": {"at_least": 100}}}, ["Concert", "Fair"]),
    ("What stands beside the fair?", "events", {"where": {"parent__children__title": {"is": "Fair"}}},
     ["Concert", "Fair", "Lecture"]),
    ("What does Globex have?", "events", {"search": "globex"}, []),
]  # fmt: skip
SUMMED = [
    ("How many pages are there?", "pages", {"measure": "count"}, {"count": 6}),
    ("How many seats?", "events", {"measure": "sum", "of": "seats"}, {"count": 3, "sum": 350}),
    ("How many of each month?", "events", {"measure": "count", "group_by": ["starts_on.month"]},
     {"2031-06": 2, "2031-07": 1}),
    ("What do they cost by topic?", "events", {"measure": "average", "of": "price", "group_by": ["topic__name"]},
     {"Music": "30", None: "5"}),
]  # fmt: skip


class QuestionTests(QuestionsMixin, TestCase):
    @classmethod
    def setUpTestData(cls):
        music = Topic.objects.create(name="Music")
        cls.sites = {}
        for number, slug in enumerate(("acme", "globex")):
            site = Site.objects.create(slug=slug)
            user = User.objects.create(username=slug)
            site.editors.add(user)
            cls.sites[slug] = (site, user)
            name = "" if slug == "acme" else "Globex "
            top = f"{number + 1:04}"
            common = {"site": site, "author": user}
            home = Page.objects.create(**common, title=f"{name}Home", path=top, depth=1)
            Page.objects.create(**common, title=f"{name}About", path=f"{top}0001", depth=2, parent=home)
            events = Page.objects.create(site=site, title=f"{name}Events", path=f"{top}0002", depth=2, parent=home)
            for place, (title, month, seats, price, topic, live) in enumerate(
                (
                    ("Concert", 6, 200, 30, music, True),
                    ("Fair", 6, 100, 10, None, True),
                    ("Lecture", 7, 50, 0, None, True),
                    ("Draft", 6, 999, 99, music, False),
                )
            ):
                Event.objects.create(
                    **common, title=f"{name}{title}", path=f"{top}0002{place + 1:04}", depth=3, parent=events,
                    live=live, starts_on=dt.date(2031, month, 1), seats=seats, price=price, topic=topic,
                )  # fmt: skip
        Page.objects.filter(depth=3).update(author=None)
        sync_all(get_host())

    def test_twenty_questions_are_answered(self):
        foreign = Event.objects.get(title="Globex Concert").pk
        refusal = Question("Show me Globex's concert", "get_page", {"id": foreign}, REFUSED)
        pages = [(text, plural, arguments, "title", titles) for text, plural, arguments, titles in FOUND]
        questions = [*found(pages), *summed(SUMMED), refusal]
        self.assertEqual(len(questions), 20)
        self.ask_all(*self.sites["acme"], questions)

    def test_another_sites_page_and_a_draft_are_refused(self):
        site, user = self.sites["acme"]
        for title in ("Globex Concert", "Draft"):
            for tool in ("get_page", "get_event"):
                tester = ToolTester(catalogue.registry().get(tool), tenant=site, user=user)
                with self.assertRaisesMessage(ToolError, "with this id among those that you can see"):
                    tester.run(id=Event.objects.get(title=title).pk)

    def test_what_opens_a_door_or_a_stream_is_not_offered(self):
        names = {column.name for column in plan_for(Event).columns}
        self.assertFalse({"door_code", "stream_key"} & names)
