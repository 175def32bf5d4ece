"""Turns a model's answer into events while it arrives."""
