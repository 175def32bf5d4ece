"""The Django app of alarms and schedules."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class TimedConfig(OptionalApp):
    name = "assistant.contrib.timed"
    label = "assistant_timed"
    verbose_name = "Assistant: alarms and schedules"
    packages = {"cronsim": "timed"}
    enum_names = {
        "AlarmState": "assistant.contrib.timed.models.Alarm.State",
        "ScheduleState": "assistant.contrib.timed.models.Schedule.State",
        "ScheduleRunState": "assistant.contrib.timed.models.ScheduleRun.State",
    }

    def register(self) -> None:
        from assistant.contrib.timed import event_names, scopes
        from assistant.contrib.timed.services import retention
        from assistant.contrib.timed.switches import alarms_are_on, shows_schedules
        from assistant.pages import added_settings, member_links
        from assistant.services import shown_notices, tenant_events
        from assistant.services.jobs import jobs
        from assistant.services.tenancy.scopes import add_rules
        from assistant.websocket import added_frames
        from assistant.websocket.added_frames import AddedFrame

        add_rules(rest=scopes.REST, frames=scopes.FRAMES)
        added_frames.handle_frames(
            {
                "alarms": AddedFrame(
                    "Subscribe to the member's ringing alarms: a CUSTOM event named alarms lists them now and on every "
                    "change."
                ),
                "alarm": AddedFrame(
                    "Say that a ringing alarm was shown, end it, or have it ring again in some minutes.",
                    required={
                        "number": {"type": "integer", "minimum": 1},
                        "action": {"enum": ["seen", "done", "snooze"]},
                    },
                    optional={"minutes": {"type": "integer", "minimum": 1, "maximum": 1440}},
                ),
            },
            handler="assistant.contrib.timed.alarm_frames.AlarmFrames",
        )
        shown_notices.show_notice("alarms", script="assistant/timed/alarms.js", is_on=alarms_are_on)
        member_links.add_link(
            "assistant:schedules", _("Your schedules"), icon="assistant/chat/icons/clock.html", is_for=shows_schedules
        )
        added_settings.ask_for("assistant.contrib.timed.settings_form.form_of")
        tenant_events.add_event(
            event_names.ALARM_UNSEEN, _("alarm.unseen: an alarm rings, and no chat of its person has shown it")
        )
        tenant_events.add_event(
            event_names.SCHEDULE_FINISHED, _("schedule.finished: a scheduled question has been answered, or failed")
        )
        jobs.handled_in("assistant.contrib.timed.services.reminders.ringing")
        jobs.handled_in("assistant.contrib.timed.services.schedules.firing")
        retention.register()
