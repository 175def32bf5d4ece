"""The brands of tenants: what is stored, and the shades of their colours."""
