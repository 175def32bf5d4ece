"""A conversation's messages: transcripts, summaries and their form in AG-UI."""
