"""Reference server: an OpenAI-compatible server that implements the contract of a dialect."""
