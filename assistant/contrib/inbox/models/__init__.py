"""What people have seen of their conversations, and whether they get e-mails about what waits for them."""

from assistant.contrib.inbox.models.inboxes import ConversationSeen, MemberInbox, PersonInbox

__all__ = ["ConversationSeen", "MemberInbox", "PersonInbox"]
