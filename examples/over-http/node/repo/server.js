// Serves the routes over HTTP on the loopback.

import http from "node:http";
import { answer } from "./routes.js";

const server = http.createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (part) => {
    body += part;
  });
  request.on("end", () => {
    const [status, text] = answer(request.method, request.url, body);
    response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" });
    response.end(text);
  });
});
server.listen(Number(process.env.PORT), "127.0.0.1");
