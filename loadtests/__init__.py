"""Load tests of chat-completions servers: Locust with accurate latencies of streams."""
