import unittest

from stopover.times import minutes


class Times(unittest.TestCase):
    def test_times_are_minutes_since_midnight(self):
        for text, expected in [("00:00", 0), ("7:05", 425), ("23:59", 1439)]:
            with self.subTest(text=text):
                self.assertEqual(minutes(text), expected)

    def test_nonsense_is_refused_by_name(self):
        for text in ["", "noon", "24:00", "12:60", "12:5", "-1:00", "12"]:
            with self.subTest(text=text):
                with self.assertRaises(ValueError) as caught:
                    minutes(text)
                self.assertIn(repr(text), str(caught.exception))
