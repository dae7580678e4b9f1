"""Tests of the whole distribution."""
