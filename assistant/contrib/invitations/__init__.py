"""Invitations to tenants, by links that people get by e-mail or from the person who invites them."""
