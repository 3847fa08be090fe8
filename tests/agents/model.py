#!/usr/bin/env python3
"""A model that says what it was told to say, on the loopback: for the real command-line agents, without a network.

It answers the APIs that coding agents speak: Anthropic Messages (POST /v1/messages), OpenAI Responses (POST
/v1/responses), OpenAI Chat Completions (POST /v1/chat/completions) and Gemini (POST …GenerateContent). Each request takes the next of the steps, the last
one is repeated. Where a step calls a shell only requests that offer one do, and the others (titles, summaries) get a
short text. It understands nothing.

    run LINE        one call of the agent's shell
    say TEXT        a text; the agent's turn ends with it
    fail N [TEXT]   an error with the status N
    stall S         nothing for S seconds, then a closed connection
    cut             a stream that breaks off in its middle; of Chat Completions without a stream an answer that ends at its
                    token limit

With --port 0 the port is the system's choice; the first line on standard output is the port. Each request is one line of
--log: its step, its path, and how many messages it has.
"""

import argparse
import http.server
import json
import sys
import threading
import time

TOKENS_IN, TOKENS_OUT = 1200, 34
SHELLS = {"exec_command": "cmd", "shell_command": "command"}
CHAT_SHELLS = ("bash", "run_shell_command")
# What some shells want besides the line.
BESIDES = {"description": "Work", "is_background": False}


class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, steps, log):
        super().__init__(("127.0.0.1", port), Answer)
        self.steps, self.log, self.taken, self.lock = steps, log, 0, threading.Lock()
        self.wants_shell = any(step.startswith("run ") for step in steps)

    def next_step(self, path, messages):
        with self.lock:
            step = self.steps[min(self.taken, len(self.steps) - 1)]
            self.taken += 1
            if self.log:
                with open(self.log, "a", encoding="utf-8") as file:
                    line = {"step": step, "path": path, "messages": messages}
                    file.write(json.dumps(line) + "\n")
            return step, self.taken


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        self.whole(200, {"data": [], "models": []})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        tools = tools_of(request)
        messages = request.get("messages") or request.get("input") or request.get("contents") or []
        if "count" in self.path:
            return self.whole(200, {"input_tokens": 100, "totalTokens": 100})
        apis = [("chat/completions", Chat), ("messages", Anthropic), ("enerateContent", Gemini)]
        speak = next((speak for part, speak in apis if part in self.path), OpenAi)
        if not tools and self.server.wants_shell:
            return speak(self, request, 0).say("A title")
        step, number = self.server.next_step(self.path, len(messages))
        kind, _, rest = step.partition(" ")
        speaker = speak(self, request, number)
        if kind == "run":
            speaker.run(rest, tools)
        elif kind == "say":
            speaker.say(rest)
        elif kind == "fail":
            status, _, text = rest.partition(" ")
            self.whole(int(status), speaker.error(int(status), text))
        elif kind == "stall":
            time.sleep(float(rest))
            self.close_connection = True
        elif kind == "cut":
            speaker.cut()
        else:
            raise ValueError(f"no such step: {step}")

    def whole(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events):
        self.lines(f"event: {event['type']}\ndata: {json.dumps(event)}" for event in events)

    def chunks(self, chunks, ends):
        self.lines([f"data: {json.dumps(chunk)}" for chunk in chunks] + (["data: [DONE]"] if ends else []))

    def lines(self, lines):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for line in lines:
            self.wfile.write(f"{line}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True


def tools_of(request):
    """The names of the tools that a request offers, and what each is called with."""
    offered = request.get("tools") or []
    flat = [tool for one in offered for tool in one.get("functionDeclarations") or [one.get("function") or one]]
    schema = lambda tool: tool.get("parameters") or tool.get("parametersJsonSchema") or {}
    return {tool.get("name") or tool.get("type"): schema(tool).get("properties", {}) for tool in flat}


def shell_call(line, tools):
    """The call of the shell among these tools that runs this line."""
    name = next((name for name in CHAT_SHELLS if name in tools), None)
    if name is None:
        raise ValueError(f"none of {sorted(tools)} is a shell to run this in: {line}")
    return name, {"command": line, **{key: value for key, value in BESIDES.items() if key in tools[name]}}


def least(schema):
    """A smallest value of a JSON schema."""
    if schema.get("enum"):
        return schema["enum"][0]
    if "properties" in schema:
        return {name: least(part) for name, part in schema["properties"].items()}
    return {"array": [], "boolean": False, "integer": 1, "number": 1}.get(str(schema.get("type")).lower(), "none")


class Anthropic:
    ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}

    def __init__(self, answer, request, number):
        self.answer, self.request, self.number = answer, request, number

    def message(self, content, stop, output):
        return {
            "id": f"msg_{self.number}", "type": "message", "role": "assistant", "model": self.request.get("model"),
            "content": content, "stop_reason": stop, "stop_sequence": None,
            "usage": {"input_tokens": TOKENS_IN, "output_tokens": output},
        }

    def begin(self, block, delta):
        return [
            {"type": "message_start", "message": self.message([], None, 1)},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
        ]

    def send(self, whole, block, delta, stop):
        if not self.request.get("stream"):
            return self.answer.whole(200, self.message([whole], stop, TOKENS_OUT))
        self.answer.stream(self.begin(block, delta) + [
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
             "usage": {"output_tokens": TOKENS_OUT}},
            {"type": "message_stop"},
        ])

    def say(self, text):
        self.send({"type": "text", "text": text}, {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn")

    def run(self, line, _tools):
        call = {"type": "tool_use", "id": f"toolu_{self.number}", "name": "Bash"}
        arguments = {"command": line, "description": "Work"}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        self.send({**call, "input": arguments}, {**call, "input": {}}, delta, "tool_use")

    def cut(self):
        self.answer.stream(self.begin({"type": "text", "text": ""}, {"type": "text_delta", "text": "I will n"}))

    def error(self, status, text):
        kind = self.ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": text or kind}}


class OpenAi:
    def __init__(self, answer, _request, number):
        self.answer, self.number = answer, number

    def send(self, item, ends=True):
        events = [
            {"type": "response.created", "response": {"id": f"resp_{self.number}"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
        ]
        usage = {
            "input_tokens": TOKENS_IN, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": TOKENS_OUT,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": TOKENS_IN + TOKENS_OUT,
        }
        end = {"type": "response.completed", "response": {"id": f"resp_{self.number}", "usage": usage}}
        self.answer.stream(events + [end] if ends else events[:1])

    def say(self, text):
        content = [{"type": "output_text", "text": text}]
        self.send({"type": "message", "id": f"m_{self.number}", "role": "assistant", "content": content})

    def run(self, line, tools):
        call = {"type": "function_call", "id": f"fc_{self.number}", "call_id": f"call_{self.number}"}
        for name, argument in SHELLS.items():
            if name in tools:
                return self.send({**call, "name": name, "arguments": json.dumps({argument: line})})
        arguments = json.dumps({"command": ["sh", "-c", line]})
        return self.send({**call, "name": "shell", "arguments": arguments})

    def cut(self):
        self.send({}, ends=False)

    def error(self, status, text):
        code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status, "server_error")
        if "context" in text:
            code = "context_length_exceeded"
        return {"error": {"type": "invalid_request_error" if status == 400 else code, "code": code, "message": text or code}}


class Chat(OpenAi):
    """What an agent without tools is to do is in the text."""

    def __init__(self, answer, request, number):
        super().__init__(answer, request, number)
        self.request = request
        self.usage = {
            "prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT,
        }

    def send(self, message, reason):
        head = {"id": f"chat_{self.number}", "created": 0, "model": self.request.get("model")}
        message = {"role": "assistant", **message}
        if not self.request.get("stream"):
            choice = {"index": 0, "finish_reason": reason, "message": message}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": self.usage}
            return self.answer.whole(200, whole)
        chunk = {**head, "object": "chat.completion.chunk"}
        last = [
            {**chunk, "choices": [{"index": 0, "finish_reason": reason, "delta": {}}]},
            {**chunk, "choices": [], "usage": self.usage},
        ]
        first = {**chunk, "choices": [{"index": 0, "finish_reason": None, "delta": message}]}
        self.answer.chunks([first] + (last if reason else []), ends=bool(reason))

    def say(self, text):
        self.send({"content": text.replace("\\n", "\n")}, "stop")

    def run(self, line, tools):
        name, arguments = shell_call(line, tools)
        call = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"index": 0, "id": f"call{self.number:05}", "type": "function", "function": call}]
        self.send({"content": "", "tool_calls": calls}, "tool_calls")

    def cut(self):
        self.send({"content": "I will n"}, None if self.request.get("stream") else "length")


class Gemini(OpenAi):
    """What is asked for as JSON, such as which model is best, gets some."""

    def __init__(self, answer, request, number):
        super().__init__(answer, request, number)
        self.config = request.get("generationConfig") or {}

    def send(self, part, ends=True):
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}}
        usage = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT, "totalTokenCount": TOKENS_IN + TOKENS_OUT}
        whole = {"candidates": [{**candidate, "finishReason": "STOP"} if ends else candidate], "usageMetadata": usage}
        if "stream" in self.answer.path:
            return self.answer.chunks([whole], ends=False)
        return self.answer.whole(200, whole)

    def say(self, text):
        if self.config.get("responseMimeType") == "application/json":
            text = json.dumps(least(self.config.get("responseJsonSchema") or self.config.get("responseSchema") or {}))
        self.send({"text": text})

    def run(self, line, tools):
        name, arguments = shell_call(line, tools)
        self.send({"functionCall": {"name": name, "args": arguments}})

    def cut(self):
        self.send({"text": "I will n"}, ends=False)

    def error(self, status, text):
        kind = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}.get(status, "UNAVAILABLE")
        return {"error": {"code": status, "message": text or kind, "status": kind}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+", metavar="STEP")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log")
    arguments = parser.parse_args()
    model = Model(arguments.port, arguments.steps, arguments.log)
    print(model.server_address[1])
    sys.stdout.flush()
    model.serve_forever()


if __name__ == "__main__":
    main()
