"""HTTP side of the server: routes, admission, connections and pages."""
