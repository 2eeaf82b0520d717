"""Real data: loaders for published formats, and the small tables of figures that ship with the package."""
