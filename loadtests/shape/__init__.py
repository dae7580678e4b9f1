"""What is sent and when: arrivals, workload, lengths and prompts."""
