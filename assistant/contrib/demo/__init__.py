"""The demo: two tenants to try the assistant with, and databases that look used."""
