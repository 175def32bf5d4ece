"""Saved prompts: texts that people put into the message box with a slash, their own and the tenant's."""
