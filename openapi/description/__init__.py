"""OpenAPI descriptions of a contract: built, validated against, compared."""
