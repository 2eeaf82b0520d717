"""The HTTP service: decisions, rewards and audits for programs, and a page for people."""
