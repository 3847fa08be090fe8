"""Tokens: who it is, until when it holds, and a signature. `python3 -m api.tokens NAME SECONDS` mints one."""

import hashlib
import hmac
import os
import sys
import time

KEY = os.environ.get("TOKEN_KEY", "only for tests").encode()


class Expired(Exception):
    """The token was good once."""


def _signature(text):
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


def mint(name, seconds):
    """A token for this name, which holds for so many seconds."""
    text = f"{name}.{int(time.time()) + seconds}"
    return f"{text}.{_signature(text)}"


def name_of(token):
    """The name that a token is for. Raises ValueError if it is none, and Expired if it holds no longer."""
    text, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature, _signature(text)):
        raise ValueError("not a token")
    name, _, until = text.rpartition(".")
    if int(until) < time.time():
        raise Expired(name)
    return name


if __name__ == "__main__":
    print(mint(sys.argv[1], int(sys.argv[2])))
