"""Whose rows: tenants, members, API keys, end users, the audit trail, row-level security."""
