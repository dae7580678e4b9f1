"""What vendors publish, written as dialect files: OpenAPI descriptions and pages of documentation."""
