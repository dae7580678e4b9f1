"""Mutation testing: run the suite against a server with one fault after another, and require that it detects each.

The server with the faults is judged like any other, as a process with a URL. It lists its faults itself, so this
package does not import them.
"""
