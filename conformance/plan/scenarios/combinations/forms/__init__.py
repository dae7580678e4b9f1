"""Requests in which a parameter has each form that its schema allows."""
