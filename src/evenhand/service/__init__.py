"""The service: durable allocations, decisions over HTTP, and a page that shows them."""
