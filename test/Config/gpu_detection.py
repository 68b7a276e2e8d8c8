# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Which CUDA devices a process started now would see. Asks the driver API and
# not nvidia-smi, because only the former honours CUDA_VISIBLE_DEVICES. As a
# script, prints one line "9.0" a device.

import ctypes
import subprocess
import sys

# CUdevice_attribute, cuda.h.
COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76


def loadDriver():
    """The driver library, or None where it is not installed."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def computeCapabilities(driver):
    """[(major, minor)] of each visible device, in the driver's order.

    `driver` is anything with the entry points cuInit, cuDeviceGetCount,
    cuDeviceGet and cuDeviceGetAttribute that return 0 for success; None
    stands for no driver. A failing call means no usable device.
    """
    if driver is None or driver.cuInit(0) != 0:
        return []
    count = ctypes.c_int(0)
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = []
    for ordinal in range(count.value):
        device = ctypes.c_int(0)
        if driver.cuDeviceGet(ctypes.byref(device), ordinal) != 0:
            continue
        numbers = []
        for attribute in (COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR):
            value = ctypes.c_int(0)
            if (
                driver.cuDeviceGetAttribute(
                    ctypes.byref(value), attribute, device
                )
                != 0
            ):
                break
            numbers.append(value.value)
        if len(numbers) == 2:
            found.append(tuple(numbers))
    return found


def detect():
    """computeCapabilities in a child process.

    A driver can hang or crash at initialisation (a container without its
    device nodes); the test runner must survive that.
    """
    if loadDriver() is None:
        return []
    try:
        result = subprocess.run(
            [sys.executable, __file__],
            capture_output=True,
            text=True,
            timeout=60,
        )
    except subprocess.TimeoutExpired:
        return []
    if result.returncode != 0:
        return []
    return [
        tuple(int(number) for number in line.split("."))
        for line in result.stdout.split()
    ]


if __name__ == "__main__":
    for major, minor in computeCapabilities(loadDriver()):
        print("%d.%d" % (major, minor))
