# A model server for tests. Requests are validated against the request types of
# the official openai and anthropic packages, and answers are made of their
# response types, so that both sides of the wire are theirs.
#
# What the model says is a script, as in toy/script.json; what goes wrong is a
# list of faults by (turn, attempt).

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pydantic
from anthropic import types as a
from anthropic.types import message_create_params as anthropicParams
from anthropic.types.raw_message_delta_event import Delta
from openai.types import chat as o
from openai.types.chat import chat_completion_chunk as chunk
from openai.types.chat import completion_create_params as openaiParams
from openai.types.completion_usage import (
    CompletionUsage,
    PromptTokensDetails,
)

for params in (
    anthropicParams.MessageCreateParamsStreaming,
    openaiParams.CompletionCreateParamsStreaming,
):
    # A member that the package does not know is an error.
    params.__pydantic_config__ = pydantic.ConfigDict(extra="forbid")
ADAPTERS = {
    "anthropic": pydantic.TypeAdapter(
        anthropicParams.MessageCreateParamsStreaming
    ),
    "openai": pydantic.TypeAdapter(
        openaiParams.CompletionCreateParamsStreaming
    ),
}


def exhaust(value):
    """Lists in the packages' types are validated only as they are read."""
    if isinstance(value, dict):
        return {key: exhaust(member) for key, member in value.items()}
    if isinstance(value, (str, bytes, int, float, bool, type(None))):
        return value
    return [exhaust(element) for element in value]


def dump(model):
    return model.model_dump_json(exclude_unset=True)


def pieces(text, size=7):
    return [text[i : i + size] for i in range(0, len(text), size)]


def makeCalls(response, folder):
    """Name and JSON text of each call."""
    calls = []
    for call in response.get("calls", []):
        arguments = call["arguments"]
        if not isinstance(arguments, str):
            arguments = dict(arguments)
            for name, value in arguments.items():
                if isinstance(value, dict) and "$file" in value:
                    with open(os.path.join(folder, value["$file"])) as stream:
                        arguments[name] = stream.read()
            arguments = json.dumps(arguments)
        calls.append((call["name"], arguments))
    return calls


def makeAnthropicEvents(response, calls, turn):
    usage = response.get("usage", {})
    yield a.RawMessageStartEvent(
        type="message_start",
        message=a.Message(
            id="msg_%d" % turn,
            type="message",
            role="assistant",
            model="test-model",
            content=[],
            stop_reason=None,
            stop_sequence=None,
            usage=a.Usage(
                input_tokens=usage.get("input", 0),
                output_tokens=1,
                cache_read_input_tokens=3,
                cache_creation_input_tokens=2,
            ),
        ),
    )
    index = 0
    if response.get("text"):
        yield a.RawContentBlockStartEvent(
            type="content_block_start",
            index=0,
            content_block=a.TextBlock(type="text", text="", citations=None),
        )
        for piece in pieces(response["text"]):
            yield a.RawContentBlockDeltaEvent(
                type="content_block_delta",
                index=0,
                delta=a.TextDelta(type="text_delta", text=piece),
            )
        yield a.RawContentBlockStopEvent(type="content_block_stop", index=0)
        index = 1
    for number, (name, arguments) in enumerate(calls):
        yield a.RawContentBlockStartEvent(
            type="content_block_start",
            index=index,
            content_block=a.ToolUseBlock(
                type="tool_use",
                id="toolu_%d_%d" % (turn, number),
                name=name,
                input={},
            ),
        )
        for piece in pieces(arguments, 50):
            yield a.RawContentBlockDeltaEvent(
                type="content_block_delta",
                index=index,
                delta=a.InputJSONDelta(
                    type="input_json_delta", partial_json=piece
                ),
            )
        yield a.RawContentBlockStopEvent(
            type="content_block_stop", index=index
        )
        index += 1
    yield a.RawMessageDeltaEvent(
        type="message_delta",
        delta=Delta(
            stop_reason="tool_use" if calls else "end_turn", stop_sequence=None
        ),
        usage=a.MessageDeltaUsage(output_tokens=usage.get("output", 0)),
    )
    yield a.RawMessageStopEvent(type="message_stop")


def makeOpenAIEvents(response, calls, turn):
    def make(delta, finish=None, usage=None, choices=True):
        return o.ChatCompletionChunk(
            id="chatcmpl-%d" % turn,
            object="chat.completion.chunk",
            created=0,
            model="test-model",
            choices=[
                chunk.Choice(index=0, delta=delta, finish_reason=finish)
            ]
            if choices
            else [],
            usage=usage,
        )

    yield make(chunk.ChoiceDelta(role="assistant", content=""))
    for piece in pieces(response.get("text", "")):
        yield make(chunk.ChoiceDelta(content=piece))
    for number, (name, arguments) in enumerate(calls):
        for i, piece in enumerate(pieces(arguments, 50)):
            call = chunk.ChoiceDeltaToolCall(
                index=number,
                function=chunk.ChoiceDeltaToolCallFunction(arguments=piece),
            )
            if i == 0:
                call.id = "call_%d_%d" % (turn, number)
                call.type = "function"
                call.function.name = name
            yield make(chunk.ChoiceDelta(tool_calls=[call]))
    yield make(
        chunk.ChoiceDelta(), finish="tool_calls" if calls else "stop"
    )
    usage = response.get("usage", {})
    yield make(
        None,
        choices=False,
        usage=CompletionUsage(
            prompt_tokens=usage.get("input", 0) + 3,
            completion_tokens=usage.get("output", 0),
            total_tokens=usage.get("input", 0) + usage.get("output", 0) + 3,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=3),
        ),
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, text, headers=()):
        body = text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_POST(self):
        server = self.server
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        provider = (
            "anthropic" if self.path == "/v1/messages" else "openai"
        )
        key = self.headers.get(
            "x-api-key" if provider == "anthropic" else "Authorization", ""
        )
        turn = 1 + sum(m["role"] == "assistant" for m in body["messages"])
        turn += server.hidden
        with server.lock:
            attempt = 1 + sum(r["turn"] == turn for r in server.requests)
            server.requests.append(
                {"turn": turn, "body": body, "path": self.path}
            )
        try:
            exhaust(ADAPTERS[provider].validate_python(body))
        except pydantic.ValidationError as error:
            server.faults_found.append("request: %s" % error)
        if server.key not in key:
            server.faults_found.append("the key is missing")
        fault = server.faults.get((turn, attempt))
        if fault in ("429", "500", "529"):
            # A server that is careless with keys.
            error = {"error": {"type": "x", "message": "no, " + server.key}}
            headers = [("retry-after-ms", "20")] if fault == "429" else []
            return self.answer(int(fault), json.dumps(error), headers)
        if fault == "400":
            error = {"error": {"type": "x", "message": "unknown parameter"}}
            return self.answer(400, json.dumps(error))
        if fault == "too long":
            error = {"error": {"type": "x", "message": "prompt is too long"}}
            server.hidden = turn - 2
            return self.answer(400, json.dumps(error))
        if fault == "close":
            self.close_connection = True
            return None
        response = {}
        if turn <= len(server.script):
            response = server.script[turn - 1]
        if fault == "calls nothing known":
            response = {"calls": [{"name": "rm -rf", "arguments": "{}"}]}
        calls = makeCalls(response, server.folder)
        make = (
            makeAnthropicEvents if provider == "anthropic" else makeOpenAIEvents
        )
        events = [
            (event.type if provider == "anthropic" else None, dump(event))
            for event in make(response, calls, turn)
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for number, (name, data) in enumerate(events):
                if fault == "cut" and number == len(events) // 2:
                    self.close_connection = True
                    return self.connection.close()
                if fault == "error event" and number == 1:
                    name = "error"
                    data = json.dumps(
                        {
                            "type": "error",
                            "error": {"type": "overloaded_error", "message": "x"},
                        }
                    )
                while fault == "endless" and number == 2:
                    self.send("data: %s\n\n" % data)
                self.send(
                    ("event: %s\n" % name if name else "") + "data: %s\n\n" % data
                )
            if provider == "openai":
                self.send("data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            # The client had enough.
            self.close_connection = True
        return None


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass


def start(script, folder, faults, key):
    server = Server(("127.0.0.1", 0), Handler)
    server.script = script
    server.folder = folder
    server.faults = faults
    server.key = key
    server.requests = []
    server.faults_found = []
    # Turns that compaction took out of the request.
    server.hidden = 0
    server.lock = threading.Lock()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, "http://127.0.0.1:%d" % server.server_address[1]
