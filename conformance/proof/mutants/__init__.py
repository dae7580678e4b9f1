"""The mutants: for each check a small change to a recorded exchange that the check must report.

They show that every check can fail. `conformance/tests/proof/test_mutants.py` applies each to recorded runs of a
conforming server.
"""
