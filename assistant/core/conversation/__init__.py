"""A conversation's messages: the transcript of a turn, summaries, AG-UI's view of them."""
