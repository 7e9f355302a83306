"""The course: five lessons as pages of Markdown, which become notebooks; python -m course."""
