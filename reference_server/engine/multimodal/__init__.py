"""Media in prompts: their encoder, and embeddings in place of tokens."""
