"""Open chats are told when a tool is switched off with a reason, or on again."""
