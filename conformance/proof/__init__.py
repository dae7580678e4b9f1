"""The proof: the suite is run against a server with one fault after another, and must name each of them.

The server that shows them is met as any other: a process with an address. What faults there are it says itself.
"""
