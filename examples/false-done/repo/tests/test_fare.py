import unittest

from fares.fare import fare


class Fare(unittest.TestCase):
    def test_adults(self):
        self.assertEqual(fare(100, 40), 100)

    def test_children(self):
        self.assertEqual(fare(100, 5), 50)
