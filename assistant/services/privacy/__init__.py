"""Export, erasure, retention and key rotation."""
