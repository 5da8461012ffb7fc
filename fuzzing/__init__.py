"""Long attacks on the promises of docs/trust.md; `make fuzz` runs them."""
