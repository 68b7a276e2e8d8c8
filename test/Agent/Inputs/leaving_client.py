# usage: leaving_client.py COMMAND...
# A client of an MCP server that asks and does not stay for the answer.

import subprocess
import sys

server = subprocess.Popen(
    sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
)
server.stdout.close()
server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
server.stdin.close()
print(server.stderr.read().decode())
print("exit code", server.wait())
