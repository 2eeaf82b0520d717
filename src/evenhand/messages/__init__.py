"""What crosses a border: requests, answers, problems and audits, as plain records without NumPy or SQL."""
