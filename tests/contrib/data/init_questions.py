"""Twenty questions of a company's people, for tools that `assistant_init` has proposed; tests of that project."""

from __future__ import annotations

import datetime as dt
from typing import Any

from acme.projects.models import Project, Task  # type: ignore[import-not-found]
from acme.users.models import Company, User  # type: ignore[import-not-found]
from django.test import TestCase

from tests.host_project.questions import Question, QuestionsMixin, found, summed

REFUSED = "There is no project with this id among those that you can see."
# The question, the tool, its arguments, and the titles of the right rows.
FOUND: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("Which tasks are open?", "tasks", {"where": {"state": {"is": "open"}}}, ["concrete", "drilling", "survey"]),
    ("Which are not?", "tasks", {"where": {"state": {"is_not": "open"}}}, ["drawings", "lights", "signs"]),
    ("What has Ann to do?", "tasks", {"where": {"assignee__username": {"is": "ann"}}}, ["drilling", "signs", "survey"]),
    ("What is to do for the bridge?", "tasks", {"where": {"project__title": {"is": "bridge"}}}, ["drawings", "survey"]),
    (
        "What is due in June?",
        "tasks",
        {"where": {"due_at": {"from": "2031-06-01", "to": "2031-06-30"}}},
        ["drilling", "signs"],
    ),
    ("What is due on 1 May?", "tasks", {"where": {"due_at": {"on": "2031-05-01"}}}, ["survey"]),
    ("What has no date?", "tasks", {"where": {"due_at": {"empty": True}}}, ["concrete"]),
    ("What is nobody's?", "tasks", {"where": {"assignee__username": {"empty": True}}}, ["lights"]),
    ("Where do we drill?", "tasks", {"search": "drill"}, ["drilling"]),
    ("What is due last?", "tasks", {"order_by": "-due_at", "size": 1}, ["lights"]),
    (
        "What of Ann's is open?",
        "tasks",
        {"where": {"assignee__username": {"is": "ann"}, "state": {"is": "open"}}},
        ["drilling", "survey"],
    ),
    ("What has Eve of Globex to do?", "tasks", {"where": {"assignee__username": {"is": "eve"}}}, []),
    ("Which projects cost 900 and more?", "projects", {"where": {"budget": {"at_least": 900}}}, ["Bridge", "Tunnel"]),
    ("Is there a road?", "projects", {"where": {"title": {"is": "road"}}}, ["Road"]),
    ("Which is the cheapest?", "projects", {"order_by": "budget", "size": 1}, ["Road"]),
]
SUMMED: list[tuple[str, str, dict[str, Any], Any]] = [
    ("How many tasks are there?", "tasks", {"measure": "count"}, {"count": 6}),
    ("How many of each state?", "tasks", {"measure": "count", "group_by": ["state"]}, {"open": 3, "done": 3}),
    ("What do the projects cost?", "projects", {"measure": "sum", "of": "budget"}, {"count": 3, "sum": "4500"}),
    (
        "How many are due each month?",
        "tasks",
        {"measure": "count", "group_by": ["due_at.month"]},
        {"2031-05": 2, "2031-06": 2, "2031-07": 1, None: 1},
    ),
]


class QuestionTests(QuestionsMixin, TestCase):
    def test_twenty_questions_are_answered(self) -> None:
        company, ann, foreign = stage()
        refusal = Question("Show me Globex's project", "get_project", {"id": foreign}, REFUSED)
        tasks = [(text, plural, arguments, "title", titles) for text, plural, arguments, titles in FOUND]
        questions = [*found(tasks), *summed(SUMMED), refusal]
        self.assertEqual(len(questions), 20)
        self.ask_all(company, ann, questions)


def stage() -> tuple[Any, Any, str]:
    """Make two companies; return the first, Ann, who works there, and the key of a project of the other."""
    acme = Company.objects.create(name="Acme")
    globex = Company.objects.create(name="Globex")
    people = {name: User.objects.create(username=name, company=acme) for name in ("ann", "bob")}
    people["eve"] = User.objects.create(username="eve", company=globex)
    budgets = {"Bridge": 1000, "Tunnel": 3000, "Road": 500}
    projects = {title: Project.objects.create(company=acme, title=title, budget=budgets[title]) for title in budgets}
    projects["Secret"] = Project.objects.create(company=globex, title="Secret", budget=9)
    for project, title, state, person, due in (
        ("Bridge", "survey", "open", "ann", (5, 1)),
        ("Bridge", "drawings", "done", "bob", (5, 2)),
        ("Tunnel", "drilling", "open", "ann", (6, 1)),
        ("Tunnel", "concrete", "open", "bob", None),
        ("Road", "signs", "done", "ann", (6, 15)),
        ("Road", "lights", "done", None, (7, 1)),
        ("Secret", "spying", "open", "eve", (5, 1)),
    ):
        due_at = None if due is None else dt.datetime(2031, *due, 12, tzinfo=dt.UTC)
        assignee = None if person is None else people[person]
        Task.objects.create(project=projects[project], title=title, state=state, assignee=assignee, due_at=due_at)
    return acme, people["ann"], str(projects["Secret"].pk)
