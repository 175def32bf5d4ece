"""The browser's pages."""
