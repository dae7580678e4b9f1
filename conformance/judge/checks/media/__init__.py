"""Images, videos and audio: they are accepted, they reach the model, and broken ones are refused."""
