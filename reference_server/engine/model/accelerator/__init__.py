"""Forward passes on an accelerator: few shapes, graphs, ways to attend, and the preparation of all of them."""
