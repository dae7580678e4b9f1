"""Real servers, clients and test suites of other projects, installed and run against chatproof.

`python -m tests.third_parties` (in `tox -e third-parties`) is the command; README.md describes it.
"""
