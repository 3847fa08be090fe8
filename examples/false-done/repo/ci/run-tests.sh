set -e
python3 -m unittest discover -v -s tests -t .
