import unittest

from stopover.layovers import layover


class SameDay(unittest.TestCase):
    def test_a_wait_within_a_day(self):
        self.assertEqual(layover("10:05", "11:50"), 105)

    def test_no_wait_at_all(self):
        self.assertEqual(layover("10:05", "10:05"), 0)


class Overnight(unittest.TestCase):
    def test_a_wait_over_midnight(self):
        self.assertEqual(layover("23:30", "0:15"), 45)

    def test_nearly_a_whole_day(self):
        self.assertEqual(layover("10:00", "9:59"), 1439)
