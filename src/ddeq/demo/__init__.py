"""The browser demo."""
