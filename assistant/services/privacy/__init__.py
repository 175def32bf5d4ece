"""Erasure, retention and key rotation."""
