"""Request bodies to what the engine is asked."""
