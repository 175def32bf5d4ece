"""Protection against other tenants' rows and internal addresses."""
