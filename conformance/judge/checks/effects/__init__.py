"""Effects of parameters: honoured or silently ignored, judged by a sequential test over many answers.

One answer shows no tendency, so the same requests are sent in rounds until the test is decided
(`conformance.statistics`). A server that refuses a parameter has no round to judge, and a model that always gives the
same answer shows nothing: no finding is reported for either.
"""
