"""The suite as pytest finds it: `pytest --pyargs conformance.suite --base-url URL --dialect NAME`."""
