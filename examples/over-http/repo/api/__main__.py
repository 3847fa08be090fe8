"""Serves the routes over HTTP on the loopback."""

import argparse
import http.server

from api import routes


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        status, text = routes.answer(self.command, self.path, self.headers.get("Authorization"), body)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = answer


arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, required=True)
port = arguments.parse_args().port
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
