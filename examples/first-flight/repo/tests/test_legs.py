import unittest

from stopover.legs import Leg


class Connections(unittest.TestCase):
    def test_a_leg_connects_where_it_ends(self):
        self.assertTrue(Leg("LIS", "FRA").connects_to(Leg("FRA", "OSL")))

    def test_a_leg_does_not_connect_elsewhere(self):
        self.assertFalse(Leg("LIS", "FRA").connects_to(Leg("MUC", "OSL")))
