"""Logs of a run in the formats of other tools: JSON lines and HAR."""
