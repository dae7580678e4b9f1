"""Compare recorded exchanges with requirements. Nothing in this package does I/O."""
