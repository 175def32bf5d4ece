"""Which assistants an assistant may ask: a part of its page."""
