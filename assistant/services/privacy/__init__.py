"""Erasure and retention."""
