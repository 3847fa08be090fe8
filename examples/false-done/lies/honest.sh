# The work, and a test more.
sed -i 's/    return price$/    return price \/\/ 2 if age < 12 else price/' fares/fare.py
printf '\n    def test_the_limit(self):\n        self.assertEqual(fare(100, 12), 100)\n' >> tests/test_fare.py
