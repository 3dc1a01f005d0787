"""Golden records: small deterministic fits whose numbers are kept to the last bit."""
