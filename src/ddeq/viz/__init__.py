"""Plots, charts and animations."""
