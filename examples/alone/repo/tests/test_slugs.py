"""What the customer agreed to."""

import unittest

from slugs import slug


class Slugs(unittest.TestCase):
    def test_words_are_joined_by_hyphens(self):
        self.assertEqual(slug("One  two"), "one-two")

    def test_punctuation_is_left_out(self):
        self.assertEqual(slug("Hello, World!"), "hello-world")
