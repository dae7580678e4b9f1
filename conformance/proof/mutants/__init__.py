"""The mutants: for each check the smallest change to a good exchange that it must notice, one module per topic.

They prove that no check is blind. `conformance/tests/test_mutants.py` holds each against recorded good answers.
"""
