"""MCP both ways: the tenant's tools for outside clients, and outside servers' tools for the tenant."""
