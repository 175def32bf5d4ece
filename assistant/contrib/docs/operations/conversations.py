"""Conversations, their messages and ratings."""

from __future__ import annotations

from assistant.api.conversations import ID_TAKEN, Conversations, MessageFeedback, Messages, OneConversation, Shown
from assistant.api.openapi import Operation
from assistant.api.serializers import (
    ConversationChange,
    ConversationIn,
    ConversationOut,
    ConversationPage,
    ConversationQuery,
    FeedbackIn,
    FeedbackOut,
    MessagePage,
    PageQuery,
    ShownIn,
)
from assistant.contrib.docs.operations.examples import MESSAGE, THREAD
from assistant.contrib.docs.operations.shapes import Operations
from assistant.services.runs.opening.busy_thread import BUSY

CONVERSATION = {
    "id": THREAD,
    "title": "Return of an umbrella",
    "assistant": "support",
    "is_archived": False,
    "tools_off": [],
    "message_count": 2,
    "created_at": "2026-11-21T09:30:00Z",
    "updated_at": "2026-11-21T09:30:04Z",
}

OPERATIONS: Operations = {
    Conversations: {
        "get": Operation(
            "List conversations",
            query=ConversationQuery,
            responses={200: (ConversationPage, {"results": [CONVERSATION], "next": None})},
            tag="conversations",
            description="The latest first. `next` is the cursor of the next page, null on the last.",
        ),
        "post": Operation(
            "Make a conversation",
            body=ConversationIn,
            example={"assistant": "support", "title": "Return of an umbrella"},
            responses={201: (ConversationOut, CONVERSATION)},
            conflicts={"conflict": ID_TAKEN},
            tag="conversations",
            is_idempotent=True,
        ),
    },
    OneConversation: {
        "get": Operation(
            "Read a conversation",
            path=["thread"],
            responses={200: (ConversationOut, CONVERSATION)},
            tag="conversations",
        ),
        "patch": Operation(
            "Rename or archive a conversation, or switch its tools",
            path=["thread"],
            body=ConversationChange,
            example={"title": "Umbrella", "is_archived": True},
            responses={200: (ConversationOut, {**CONVERSATION, "title": "Umbrella", "is_archived": True})},
            conflicts={"conflict": "tools_off has 'suply' (is 'supply' meant?), which is no tool here. Tools: supply."},
            tag="conversations",
        ),
        "delete": Operation(
            "Delete a conversation",
            path=["thread"],
            responses={204: (None, None)},
            conflicts={"thread_busy": BUSY},
            tag="conversations",
            description="With all of its messages. Refused while it is being answered.",
        ),
    },
    Messages: {
        "get": Operation(
            "List the messages of a conversation",
            path=["thread"],
            query=PageQuery,
            responses={200: (MessagePage, {"results": [MESSAGE], "next": None})},
            tag="conversations",
            description="The oldest first. `next` is the cursor of the next page, null on the last.",
        ),
    },
    Shown: {
        "put": Operation(
            "Show another version",
            path=["thread"],
            body=ShownIn,
            example={"message_id": "msg-2"},
            responses={204: (None, None)},
            conflicts={"thread_busy": BUSY},
            tag="conversations",
            description=(
                "A changed question or another answer is a branch of the conversation. Shows the one with this "
                "message, here and wherever the conversation is open. `versions` of a message names the others. The "
                "next run follows it."
            ),
        ),
    },
    MessageFeedback: {
        "put": Operation(
            "Rate an answer",
            path=["thread", "message_id"],
            body=FeedbackIn,
            example={"rating": 1, "comment": "Just what I needed."},
            responses={200: (FeedbackOut, {"rating": 1, "comment": "Just what I needed."})},
            tag="conversations",
        ),
        "delete": Operation(
            "Take a rating back", path=["thread", "message_id"], responses={204: (None, None)}, tag="conversations"
        ),
    },
}
