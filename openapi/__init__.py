"""The contract: five vendor documents as data, and what is mechanically derived from it."""
