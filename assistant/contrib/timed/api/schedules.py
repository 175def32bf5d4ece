"""A member's schedules: questions that an assistant is asked at moments."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found
from assistant.api.base import TenantView, idempotent, validated
from assistant.api.fields import Flag, OneOf, Text
from assistant.api.openapi import POSITIVE_INTEGER, describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.contrib.timed.services.schedules.schedules import (
    MAX_BUDGET,
    MAX_CRON,
    MAX_NAME,
    MAX_PROMPT,
    ScheduleDraft,
    ScheduleRefused,
    delete_schedule,
    make_schedule,
    own_schedules,
    set_paused,
)

TAG = "schedules"
# The newest ones that are listed, of schedules and of the moments of one.
MAX_LISTED, MAX_RUNS = 100, 20
GIVEN = {
    "assistant": "support",
    "name": "Open orders",
    "prompt": "Which orders are open?",
    "cron": "0 9 * * 1",
    "timezone": "Europe/Vienna",
    "ends_at": "2027-05-31T22:00:00Z",
    "budget": 5_000_000,
    "missed": "run",
    "delivery": "email",
}
SCHEDULE = {
    **GIVEN,
    "id": 12,
    "at": None,
    "state": "on",
    "reason": "",
    "next_at": "2026-11-23T08:00:00Z",
    "created_at": "2026-11-21T09:30:00Z",
}
RUN = {
    "due_at": "2026-11-23T08:00:00Z",
    "state": "finished",
    "conversation": "0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f",
    "run": "schedule-12-20261123T080000",
    "problem": "",
    "cost": 4100,
}
REFUSED = "A schedule that asks again and again needs an end and a budget."
describe_parameter("schedule", "The schedule's id.", example=12, schema=POSITIVE_INTEGER)


class ScheduleIn(ApiSerializer):
    assistant = Text(max_length=63, help_text="The assistant's slug.")
    name = Text(max_length=MAX_NAME)
    prompt = Text(max_length=MAX_PROMPT, help_text="What is asked each time.")
    cron = Text(max_length=MAX_CRON, required=False, default="", allow_blank=True, help_text="Five fields; or `at`.")
    at = serializers.DateTimeField(required=False, default=None, allow_null=True, help_text="To ask once.")
    timezone = Text(max_length=64, required=False, default="", allow_blank=True, help_text="Empty: the tenant's.")
    ends_at = serializers.DateTimeField(required=False, default=None, allow_null=True, help_text="With `cron`.")
    budget = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MAX_BUDGET,
        help_text="With `cron`: what all answers may cost together, in millionths of the currency.",
    )
    missed = OneOf(choices=Schedule.Missed.choices, required=False, default="run", help_text="After a missed moment.")
    delivery = OneOf(choices=Schedule.Delivery.choices, required=False, default="conversation")


class ScheduleRunOut(ApiSerializer):
    due_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=ScheduleRun.State.choices)
    conversation = serializers.UUIDField(source="conversation_id", allow_null=True)
    run = serializers.CharField(source="run_id")
    problem = serializers.CharField()
    cost = serializers.IntegerField(help_text="In millionths of the currency.")


class ScheduleOut(ApiSerializer):
    id = serializers.IntegerField()
    assistant = serializers.SlugField(source="assistant.slug")
    name = serializers.CharField()
    prompt = serializers.CharField()
    cron = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    timezone = serializers.CharField()
    ends_at = serializers.DateTimeField(allow_null=True)
    budget = serializers.IntegerField(allow_null=True)
    missed = serializers.ChoiceField(choices=Schedule.Missed.choices)
    delivery = serializers.ChoiceField(choices=Schedule.Delivery.choices)
    state = serializers.ChoiceField(choices=Schedule.State.choices)
    reason = serializers.CharField(help_text="Why it has stopped.")
    next_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    runs = ScheduleRunOut(
        many=True,
        required=False,
        source="newest_runs",
        help_text=f"The newest {MAX_RUNS} moments, the newest first; only where one schedule is read.",
    )


class ScheduleChange(ApiSerializer):
    is_paused = Flag(help_text="Whether it asks nothing for now.")


class Schedules(TenantView):
    """The caller's schedules."""

    @operation(
        "List schedules",
        responses={200: (ScheduleOut(many=True), [SCHEDULE])},
        tag=TAG,
        description=f"The caller's own, the newest first, {MAX_LISTED} at most.",
    )
    def get(self, request: Request) -> Response:
        return Response(ScheduleOut(own_schedules(self.member)[:MAX_LISTED], many=True).data)

    @operation(
        "Create a schedule",
        body=ScheduleIn,
        example=GIVEN,
        responses={201: (ScheduleOut, SCHEDULE)},
        tag=TAG,
        is_idempotent=True,
        description="Has an assistant asked at moments in the caller's name, with the permissions and limits that they "
        "have then. Nobody can be asked for an approval, so tools that ask first are refused. With `cron` it needs "
        "`ends_at` and `budget`.",
    )
    @idempotent
    def post(self, request: Request) -> Response:
        given = validated(ScheduleIn, request.data)
        try:
            row = make_schedule(member=self.member, draft=ScheduleDraft(**given))
        except ScheduleRefused as exc:
            raise HttpRefusal(400, "invalid_input", str(exc)) from exc
        return Response(ScheduleOut(row).data, status=201)


class OneSchedule(TenantView):
    """One schedule of the caller."""

    @operation(
        "Read a schedule",
        path=["schedule"],
        responses={200: (ScheduleOut, {**SCHEDULE, "runs": [RUN]})},
        tag=TAG,
        description="With its newest moments, and the conversations in which it was asked.",
    )
    def get(self, request: Request, schedule: int) -> Response:
        row: Any = self._own(schedule)
        row.newest_runs = ScheduleRun.objects.filter(tenant_id=row.tenant_id, schedule=row)[:MAX_RUNS]
        return Response(ScheduleOut(row).data)

    @operation(
        "Pause a schedule",
        path=["schedule"],
        body=ScheduleChange,
        example={"is_paused": True},
        responses={200: (ScheduleOut, {**SCHEDULE, "state": "paused"})},
        tag=TAG,
        description="Or let it go on at its next moment, also one that has stopped.",
    )
    def patch(self, request: Request, schedule: int) -> Response:
        given, row = validated(ScheduleChange, request.data), self._own(schedule)
        try:
            changed = set_paused(row=row, is_paused=given["is_paused"], actor=row.user, by=self.member)
        except ScheduleRefused as exc:
            raise HttpRefusal(400, "invalid_input", str(exc)) from exc
        return Response(ScheduleOut(changed).data)

    @operation(
        "Delete a schedule",
        path=["schedule"],
        responses={204: (None, None)},
        tag=TAG,
        description="The conversations with its answers stay.",
    )
    def delete(self, request: Request, schedule: int) -> Response:
        row = self._own(schedule)
        delete_schedule(row=row, actor=row.user)
        return Response(status=204)

    def _own(self, pk: int) -> Schedule:
        row = own_schedules(self.member).filter(pk=pk).first() if pk < 2**63 else None
        if row is None:
            raise not_found()
        return row
