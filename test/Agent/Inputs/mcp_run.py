# usage: mcp_run.py FOLDER COMMAND...
# Drives `d2k-run serve --mcp` with the official client.

import asyncio
import os
import shutil
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from runs import readEvents, require

folder = sys.argv[1]
command = sys.argv[2:] + ["--out", folder]
here = os.path.dirname(os.path.abspath(__file__))
shutil.rmtree(folder, ignore_errors=True)


def text(result):
    return "".join(part.text for part in result.content)


def isError(result):
    return getattr(result, "isError", getattr(result, "is_error", None))


async def connect(work):
    parameters = StdioServerParameters(
        command=command[0], args=command[1:], env=dict(os.environ)
    )
    async with stdio_client(parameters) as (read, write):
        async with ClientSession(read, write) as session:
            await work(session, await session.initialize())


async def first(session, hello):
    require("toy_scale" in hello.instructions, "the task is in the instructions")
    tools = (await session.list_tools()).tools
    names = [tool.name for tool in tools]
    require("submit" in names and "write_file" in names, str(names))
    prompts = (await session.list_prompts()).prompts
    require([p.name for p in prompts] == ["task"], "one prompt")
    task = await session.get_prompt("task")
    require("Y[m,n]" in task.messages[0].content.text, "the task")
    await session.send_ping()
    with open(os.path.join(here, "toy", "fast.cu")) as stream:
        content = stream.read()
    done = await session.call_tool(
        "write_file", {"path": "kernel.cu", "content": content}
    )
    require("[turn 1 of 4]" in text(done) and not isError(done), text(done))
    done = await session.call_tool("read_file", {"path": "../x"})
    require(isError(done), text(done))


async def second(session, hello):
    """The client came back: the files are still there."""
    done = await session.call_tool("submit", {})
    require("verdict: correct" in text(done), text(done))
    done = await session.call_tool("list_files", {})
    require("kernel.cu" in text(done) and "[turn 4 of 4]" in text(done), text(done))
    done = await session.call_tool("list_files", {})
    require(isError(done) and "used up" in text(done), text(done))


asyncio.run(connect(first))
asyncio.run(connect(second))
calls = [e for e in readEvents(folder) if e["type"] == "tool"]
require(len(calls) == 4, "four calls are in the transcript")
print("ok")
