"""The model answer: an OpenAI-compatible server that obeys the contract."""
