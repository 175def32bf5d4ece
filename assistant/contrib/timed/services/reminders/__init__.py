"""Alarms: they ring in open chats, and by e-mail and webhook where none is open."""
