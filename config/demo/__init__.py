"""What `make demo` loads and serves: two tenants, their people and assistants, with the shop of `tools/`."""
