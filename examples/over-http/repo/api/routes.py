"""What the service answers."""


def answer(method, path, authorization, body):
    """Status and text of the response to a request."""
    if (method, path) == ("GET", "/health"):
        return 200, "up"
    return 404, "no such route"
