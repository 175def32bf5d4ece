"""An optional app that shows how much of what the assistant reads of a conversation is used."""
