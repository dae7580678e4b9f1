"""The contract: vendor documents as data, and everything that is derived from them mechanically."""
