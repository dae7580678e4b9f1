"""HTTP clients of the gateway: connections, servers, load balancing, and probes."""
