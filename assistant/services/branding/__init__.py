"""How a tenant's chat and widget look."""
