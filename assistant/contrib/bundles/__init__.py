"""Bundles: the configuration of a tenant or of an assistant as one file, to export and to import."""
