"""What pages of the admin share: the user's tenants, filters, links, secrets in forms."""
