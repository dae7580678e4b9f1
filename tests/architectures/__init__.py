"""Every kind of decoder that transformers can build, small and with random weights: is it served, and how?"""
