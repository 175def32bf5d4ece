"""End users, their tokens, and those of members for the widget."""
