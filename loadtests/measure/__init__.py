"""What is measured: latencies, counts, objectives, the validity of the measurement, and checks of sampled streams."""
