"""The browser demo: a small local server, and the page it serves."""
