"""What only `ChatClient` needs of a turn: its reply, its context, its stores."""
