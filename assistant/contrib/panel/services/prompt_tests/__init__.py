"""Tests of prompts: test chats, the calls of tools in tests, and what a run would be given."""
