"""Chat templates, transcripts and reasoning: text around the tokens."""
