"""Finds what goes wrong, puts it into groups, and keeps what people say of conversations."""
