"""The page of gaps and the list of labels in the admin, and what the control panel shows of them."""

from assistant.contrib.gaps.admin import gaps_page, labels

__all__ = ["gaps_page", "labels"]
