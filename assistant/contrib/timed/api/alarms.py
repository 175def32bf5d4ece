"""A member's alarms: listing them, ending one, and snoozing one that rings."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import not_found
from assistant.api.base import TenantView, validated, validated_query
from assistant.api.fields import OneOf
from assistant.api.openapi import POSITIVE_INTEGER, describe_parameter, operation
from assistant.api.serializers import ApiSerializer
from assistant.contrib.timed.models import Alarm
from assistant.contrib.timed.services.reminders.alarms import (
    DEFAULT_SNOOZE,
    MAX_SNOOZE,
    MIN_SNOOZE,
    end_alarm,
    own_alarms,
    ringing,
    snooze_alarm,
)

TAG = "alarms"
# The newest ones that are listed.
MAX_LISTED = 100
ALARM = {
    "number": 3,
    "label": "Ferry",
    "state": "ringing",
    "at": "2026-11-21T06:35:00Z",
    "rang_at": "2026-11-21T06:35:00Z",
    "is_late": False,
    "rings": 1,
}
describe_parameter("number", "The alarm's number.", example=3, schema=POSITIVE_INTEGER)


class AlarmOut(ApiSerializer):
    number = serializers.IntegerField(help_text="Counts the member's alarms.")
    label = serializers.CharField(  # type: ignore[assignment]  # the name is the API's
        help_text="What it is for; a model has written it."
    )
    state = serializers.ChoiceField(choices=Alarm.State.choices)
    at = serializers.DateTimeField()
    rang_at = serializers.DateTimeField(allow_null=True)
    is_late = serializers.SerializerMethodField(help_text="It rang more than a minute after its moment.")
    rings = serializers.IntegerField(help_text="How often it has rung; again after each snooze.")

    def get_is_late(self, alarm: Alarm) -> bool:
        return alarm.rang_at is not None and ringing(alarm).is_late


class AlarmQuery(ApiSerializer):
    state = OneOf(choices=Alarm.State.choices, required=False, help_text="Only those in this state.")


class SnoozeIn(ApiSerializer):
    minutes = serializers.IntegerField(
        required=False, default=DEFAULT_SNOOZE, min_value=MIN_SNOOZE, max_value=MAX_SNOOZE
    )


class Alarms(TenantView):
    """The caller's alarms."""

    @operation(
        "List alarms",
        query=AlarmQuery,
        responses={200: (AlarmOut(many=True), [ALARM])},
        tag=TAG,
        description=f"The caller's own, the newest first, {MAX_LISTED} at most. With `state=ringing` those that ring. "
        "An open chat or widget is told of them over the websocket.",
    )
    def get(self, request: Request) -> Response:
        query = validated_query(AlarmQuery, request)
        found = own_alarms(self.member, state=query.get("state", ""))
        return Response(AlarmOut(found[:MAX_LISTED], many=True).data)


class AlarmDone(TenantView):
    """The end of one alarm."""

    @operation(
        "End an alarm",
        path=["number"],
        responses={200: (AlarmOut, {**ALARM, "state": "done"})},
        tag=TAG,
        description="It rings no more, in no chat. One that has ended already stays as it is.",
    )
    def post(self, request: Request, number: int) -> Response:
        return _answer(end_alarm(member=self.member, number=number))


class AlarmSnooze(TenantView):
    """A ringing alarm that is to ring again."""

    @operation(
        "Snooze an alarm",
        path=["number"],
        body=SnoozeIn,
        example={"minutes": 10},
        responses={200: (AlarmOut, {**ALARM, "state": "set", "at": "2026-11-21T06:45:00Z"})},
        tag=TAG,
        description="A ringing alarm rings again so many minutes from now. One that does not ring stays as it is.",
    )
    def post(self, request: Request, number: int) -> Response:
        given = validated(SnoozeIn, request.data)
        return _answer(snooze_alarm(member=self.member, number=number, minutes=given["minutes"]))


def _answer(alarm: Any) -> Response:
    if alarm is None:
        raise not_found()
    return Response(AlarmOut(alarm).data)
