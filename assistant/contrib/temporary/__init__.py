"""Temporary conversations: in no list, and deleted soon after their last answer."""
