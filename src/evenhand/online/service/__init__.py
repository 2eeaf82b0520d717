"""The HTTP service: decisions, reports and audits for programs, and a page for people."""
