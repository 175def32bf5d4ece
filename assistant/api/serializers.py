"""The bodies and query strings of the REST API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers

from assistant.api.fields import (
    CURSOR,
    MESSAGE_ID,
    SAYING,
    SLUG,
    TOOL,
    Day,
    Flag,
    JsonObject,
    OneOf,
    QueryFlag,
    Text,
    Uuid,
)
from assistant.models import Assistant, Conversation, Feedback, Run
from assistant.services.assistants.welcome import greetings_of
from assistant.services.conversations.conversations import MAX_TITLE
from assistant.services.conversations.feedback import MAX_COMMENT
from assistant.services.conversations.pagination import MAX_PAGE, ClientMessage
from assistant.services.conversations.tool_switch import MAX_NAMES
from assistant.services.runs.content_parts import MAX_FILES
from assistant.services.text import MAX_TEXT


# A body or a query string. Docstrings of subclasses are descriptions in the schema.
class ApiSerializer(serializers.Serializer[Any]):
    # Keywords of JSON Schema for what the fields do not say.
    constraints: ClassVar[Mapping[str, Any]] = {}


class AssistantOut(ApiSerializer):
    slug = serializers.SlugField()
    name = serializers.CharField()
    description = serializers.CharField()
    starters = serializers.ListField(child=serializers.CharField(), help_text="Prompts to begin with.")
    greetings = serializers.SerializerMethodField(
        help_text="What an empty conversation begins with: by language, and `default`."
    )
    other_models = serializers.ListField(
        child=serializers.CharField(), help_text="What `forwardedProps.model` may name, besides the assistant's own."
    )

    def get_greetings(self, assistant: Assistant) -> dict[str, str]:
        return greetings_of(assistant)


class ToolOut(ApiSerializer):
    name = serializers.CharField(source="tool.name")
    description = serializers.CharField(source="tool.description")
    parameters = serializers.DictField(source="tool.parameters", help_text="JSON Schema of its arguments.")
    policy = serializers.ChoiceField(choices=["on", "ask", "off"])
    rule = serializers.CharField(help_text="The rule that decided, as a sentence.")


class ConversationOut(ApiSerializer):
    id = serializers.UUIDField(source="client_id", help_text="AG-UI's threadId.")
    title = serializers.CharField()
    assistant = serializers.SlugField(source="assistant.slug")
    is_archived = serializers.SerializerMethodField()
    tools_off = serializers.ListField(
        child=serializers.CharField(), help_text="Tools that are off in this conversation; `*` stands for all."
    )
    message_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_is_archived(self, conversation: Conversation) -> bool:
        return conversation.archived_at is not None


class ConversationIn(ApiSerializer):
    assistant = Text(max_length=63, pattern=SLUG, help_text="The assistant's slug.")
    title = Text(max_length=MAX_TITLE, required=False, default="", allow_blank=True)
    id = Uuid(required=False, help_text="Made by the server if left out.")


class ConversationChange(ApiSerializer):
    title = Text(max_length=MAX_TITLE, pattern=SAYING, required=False)
    is_archived = Flag(required=False)
    tools_off = serializers.ListField(
        child=Text(max_length=64, pattern=TOOL),
        max_length=MAX_NAMES,
        required=False,
        help_text="The only tools that are off in this conversation from its next run on; `*` stands for all.",
    )


class PageQuery(ApiSerializer):
    cursor = Text(
        pattern=CURSOR, required=False, default="", allow_blank=True, help_text="From `next` of the page before."
    )
    limit = serializers.IntegerField(required=False, default=20, min_value=1, max_value=MAX_PAGE)


class ConversationQuery(PageQuery):
    q = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=200, help_text="In the title or a message."
    )
    assistant = Text(max_length=63, pattern=SLUG, required=False, default="", help_text="Only with this assistant.")
    archived = QueryFlag(required=False, default=False, help_text="The archive instead.")


class ConversationPage(ApiSerializer):
    results = ConversationOut(many=True, source="entries")
    next = serializers.CharField(source="next_cursor", allow_null=True, help_text="The next page's cursor.")


class ToolCallOut(ApiSerializer):
    id = serializers.CharField()
    name = serializers.CharField()
    arguments = serializers.CharField(help_text="JSON text, as the model wrote it.")


class FeedbackIn(ApiSerializer):
    rating = OneOf(choices=Feedback.Rating.choices, help_text="1: helpful, -1: not helpful.")
    comment = Text(max_length=MAX_COMMENT, required=False, default="", allow_blank=True)


class FeedbackOut(ApiSerializer):
    rating = serializers.ChoiceField(choices=Feedback.Rating.choices)
    comment = serializers.CharField()


class VersionsOut(ApiSerializer):
    number = serializers.IntegerField(help_text="Which of them it is, from 1.")
    of = serializers.IntegerField(help_text="How many there are.")
    previous = serializers.CharField(allow_null=True, help_text="The id of the one before it.")
    next = serializers.CharField(allow_null=True, help_text="The id of the one after it.")


class ShownIn(ApiSerializer):
    message_id = Text(max_length=128, pattern=MESSAGE_ID)


class SentFileOut(ApiSerializer):
    id = serializers.CharField()
    name = serializers.CharField()
    mediaType = serializers.CharField()  # noqa: N815 - as in events
    size = serializers.IntegerField(help_text="In bytes.")


class MessageOut(ApiSerializer):
    id = serializers.CharField()
    run = serializers.CharField(source="run_id", help_text="Empty if the run is gone.")
    role = serializers.ChoiceField(choices=["user", "assistant", "tool"])
    content = serializers.CharField()
    is_ai_generated = serializers.SerializerMethodField(help_text="Whether a model wrote it.")
    reasoning = serializers.CharField()
    tool_calls = ToolCallOut(many=True)
    tool_call_id = serializers.CharField(help_text="Of a tool message: the call that it answers.")
    is_partial = serializers.BooleanField(help_text="Cut off by a limit, a cancel, an error or a crash.")
    cut_reason = serializers.CharField(
        help_text="Why a partial answer was cut off: length, content_filter or invalid_form. Empty: see its run."
    )
    is_superseded = serializers.BooleanField(
        help_text="Cut off when its process died, and repeated in later messages: no part of the answer."
    )
    attachments = SentFileOut(many=True, help_text="The files that were sent with it.")
    versions = VersionsOut(allow_null=True, help_text="Of a question that was changed, or another answer; else null.")
    created_at = serializers.DateTimeField()
    feedback = FeedbackOut(allow_null=True)
    added = serializers.DictField(help_text="What optional apps add to an answer, by their names, such as `receipts`.")

    def get_is_ai_generated(self, message: ClientMessage) -> bool:
        return message.role == "assistant"


class MessagePage(ApiSerializer):
    results = MessageOut(many=True, source="entries")
    next = serializers.CharField(source="next_cursor", allow_null=True, help_text="The next page's cursor.")


class ApprovalOut(ApiSerializer):
    call_id = serializers.CharField()
    run = serializers.CharField(source="run.run_id")
    conversation = serializers.UUIDField(source="run.conversation.client_id")
    assistant = serializers.SlugField(source="run.assistant.slug")
    tool = serializers.CharField(source="name")
    arguments = serializers.CharField(help_text="JSON text, as the model wrote it.")
    rule = serializers.CharField(help_text="Why the call needs approval.")
    asked_at = serializers.DateTimeField(source="started_at")


# Rejects unknown fields, for requests where ignoring one could do something that the caller did not intend.
class StrictSerializer(ApiSerializer):
    constraints = {"additionalProperties": False}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := set(data) - set(self.fields)):
            sentence = f"There is no such field; there are {', '.join(self.fields)}."
            raise serializers.ValidationError({name: [sentence] for name in sorted(unknown)})
        return super().to_internal_value(data)


class DecisionIn(StrictSerializer):
    constraints = {
        **StrictSerializer.constraints,
        "anyOf": [{"properties": {"approved": {"const": True}}}, {"not": {"required": ["response"]}}],
    }

    call_id = Text(max_length=128)
    approved = Flag()
    reason = Text(max_length=1000, required=False, default="", allow_blank=True, help_text="The model reads it.")
    edited_arguments = JsonObject(required=False, help_text="Run with these arguments instead.")
    response = Text(
        max_length=MAX_TEXT,
        required=False,
        help_text="With approved true: the result to use instead of running the tool.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "response" in attrs and not attrs["approved"]:
            raise serializers.ValidationError({"response": ["It needs approved true."]})
        return attrs


class DecisionsIn(StrictSerializer):
    decisions = serializers.ListField(
        child=DecisionIn(), min_length=1, help_text="One for every call of the run that needs approval."
    )
    wait = Flag(required=False, default=True, help_text="Answer when the run that continues has ended.")


class RunIn(ApiSerializer):
    message = Text(max_length=MAX_TEXT, pattern=SAYING, help_text="What the member says.")
    attachments = serializers.ListField(
        child=Uuid(),
        required=False,
        default=list,
        max_length=MAX_FILES,
        help_text="The ids of uploaded files to send with it.",
    )
    wait = Flag(required=False, default=True, help_text="Answer when the run has ended, instead of at once.")


class RunOut(ApiSerializer):
    id = serializers.CharField()
    conversation = serializers.UUIDField()
    assistant = serializers.SlugField()
    status = serializers.ChoiceField(choices=Run.Status.choices)
    text = serializers.CharField(help_text="The answer; complete if the status is `finished`.")
    messages = MessageOut(many=True)
    approvals = ApprovalOut(many=True, help_text="Calls that need approval.")
    error_code = serializers.CharField()
    error_message = serializers.CharField()
    model = serializers.CharField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class EventsQuery(ApiSerializer):
    protocolVersion = Text(  # noqa: N815 - AG-UI's name
        required=False,
        default="",
        allow_blank=True,
        max_length=20,
        help_text="The AG-UI version that the client speaks: 1.0. Without it, outcomes are sent as before 1.0.",
    )


class UsageQuery(ApiSerializer):
    since = Day(required=False, help_text="First day; 30 days ago if left out.")
    until = Day(required=False, help_text="Last day; today if left out.")
    by = OneOf(choices=["day", "model", "assistant"], required=False, default="day")
    whose = OneOf(choices=["mine", "tenant"], required=False, default="mine", help_text="`tenant` is for its admins.")


class UsageLineOut(ApiSerializer):
    name = serializers.CharField(help_text="The day, model or assistant.")
    runs = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cached_input_tokens = serializers.IntegerField()
    cache_write_tokens = serializers.IntegerField()
    reasoning_tokens = serializers.IntegerField()


class UsageOut(ApiSerializer):
    since = serializers.DateField()
    until = serializers.DateField()
    results = UsageLineOut(many=True)
