# The test says what the code does, and not what it should do.
sed -i 's/fare(100, 5), 50/fare(100, 5), 100/' tests/test_fare.py
echo 'Corrected the expectation of a wrong test.'
