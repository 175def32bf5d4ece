"""Optional apps: each is there if INSTALLED_APPS names it, and absent without a trace otherwise."""
