"""The proof that no tool reaches another tenant: two tenants in a throw-away database, and calls that try to."""
