"""Everything that belongs to a tenant or a person as a zip file: `assistant_export_tenant`, `assistant_export_user`."""
