"""Server-rendered pages: elements, layout, Markdown, headers; no page of its own."""
