"""Questions that assistants are asked at moments, in a member's name."""
