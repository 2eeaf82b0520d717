"""The command line: one module per group of commands, one for the tables that they print."""
