"""What theory says: the optima, which promises can be kept, and the bounds of theorems."""
