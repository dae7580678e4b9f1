"""Long prompts with parts and texts of every kind, each of which must reach the model as it was sent."""
