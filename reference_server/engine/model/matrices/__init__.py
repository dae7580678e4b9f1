"""The products with a model's matrices."""
