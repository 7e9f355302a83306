"""Pictures without a browser: a view of a record, drawn for paper, as a page, or as numbers."""
