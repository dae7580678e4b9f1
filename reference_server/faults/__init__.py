"""Faults: misbehaviours of real servers that the reference server can reproduce over a real socket.

A fault is a small function with a decorator from `decorators`. `topics` contains them by topic, and `bound_faults`
generates one for every bound of a contract. `assembly` adds them to the application and the engine when a server is
created, so a server without faults pays nothing.
"""
