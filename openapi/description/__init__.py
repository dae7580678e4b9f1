"""OpenAPI descriptions of a contract: build them, validate against them, and compare them."""
