"""Finish reasons: whether they agree with how the answer ended."""
