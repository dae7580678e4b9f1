"""What is sent and when: the workload and its lengths and prompts, and the times of arrival."""
