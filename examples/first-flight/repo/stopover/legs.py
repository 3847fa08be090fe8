"""Legs of a journey."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Leg:
    """One flight, from an airport to another."""

    origin: str
    destination: str

    def connects_to(self, onward):
        """Whether `onward` starts where this leg ends."""
        return self.destination == onward.origin
