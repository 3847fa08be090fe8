"""Connections between flights."""
