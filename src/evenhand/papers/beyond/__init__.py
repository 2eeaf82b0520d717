"""Beyond the papers: what no paper of the five has."""
