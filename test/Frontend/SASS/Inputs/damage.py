# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Copies an ELF file with a fault in it: cut to a length, with bytes changed, or
# with a section's bytes all set.
#
# usage: damage.py INPUT OUTPUT
#          --length N | --byte OFFSET VALUE [OFFSET VALUE...] | --section NAME

import struct
import sys

source, target, action, *values = sys.argv[1:]
with open(source, "rb") as stream:
    data = bytearray(stream.read())
if action == "--length":
    data = data[: int(values[0])]
elif action == "--byte":
    for offset, value in zip(values[::2], values[1::2]):
        data[int(offset, 0)] = int(value, 0)
else:
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count, index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size)
        for i in range(count)
    ]
    names = bytes(data[headers[index][4]:][: headers[index][5]])
    for header in headers:
        if names[header[0]:].split(b"\0")[0].decode() == values[0]:
            start, length = header[4], header[5]
            data[start:start + length] = b"\xff" * length
with open(target, "wb") as stream:
    stream.write(data)
