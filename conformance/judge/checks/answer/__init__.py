"""Plain answers: JSON responses to requests without `stream: true`."""
