"""The page: a local server and the views that a browser shows; nothing ever leaves the machine."""
