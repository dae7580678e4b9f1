"""Recorded runs judged again, sent again, or replayed to clients."""
