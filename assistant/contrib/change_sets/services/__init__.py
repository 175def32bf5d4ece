"""What a change set holds, whom it reaches, and how it begins and is taken back."""
