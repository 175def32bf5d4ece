"""Tenants, members, API keys, end users, the audit trail and row-level security."""
