"""What every room uses: the state, the registry of parts, checks of parameters, errors, and files."""
