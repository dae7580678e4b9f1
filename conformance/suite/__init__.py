"""The suite as a pytest package: `pytest --pyargs conformance.suite --base-url URL --dialect NAME`."""
