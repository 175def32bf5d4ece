"""What waits for a person over all conversations: in the list, the title, the tab's icon, a page and e-mails."""
