"""The judges, one module per topic. They read recorded exchanges and do no I/O."""
