"""Named faults: each is one misbehaviour of a real server, shown over a real socket. A server without one pays nothing.

A fault is a small function with a decorator of `seams`; `topics` holds them by topic, and `bounds` makes one of every
bound of a contract. They are put around the application and the engine when a server is assembled, and nowhere else.
"""
