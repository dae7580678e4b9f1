"""State what a page says about answers, chunks and errors, in the delta of its dialect."""
