"""The demo: its two tenants, its server, and databases that look used."""
