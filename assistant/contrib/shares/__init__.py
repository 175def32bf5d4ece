"""Links under which a tenant's members read a conversation of another member."""
