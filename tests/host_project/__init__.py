"""A project of somebody else's, with its own users and tenants, that has the apps installed: `crm/` is all of it."""
