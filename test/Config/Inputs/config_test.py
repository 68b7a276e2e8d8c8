# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Unit tests of the test configuration: device detection against fake drivers,
# and the reading of ptxas' help text.

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import cuda_tools
import gpu_detection


def store(reference, value):
    """Writes through what ctypes.byref made."""
    reference._obj.value = value


class FakeDriver:
    """A driver with the given devices, one (major, minor) each.

    `fail` names an entry point that returns CUDA_ERROR_UNKNOWN.
    """

    def __init__(self, devices, fail=None):
        self.devices = devices
        self.fail = fail

    def result(self, name):
        return 999 if self.fail == name else 0

    def cuInit(self, flags):
        assert flags == 0
        return self.result("cuInit")

    def cuDeviceGetCount(self, count):
        store(count, len(self.devices))
        return self.result("cuDeviceGetCount")

    def cuDeviceGet(self, device, ordinal):
        # Handles differ from ordinals, so that mixing them up shows.
        store(device, ordinal + 100)
        return self.result("cuDeviceGet")

    def cuDeviceGetAttribute(self, value, attribute, device):
        # cuda.h: 75 is the major, 76 the minor number.
        number = {75: 0, 76: 1}[attribute]
        store(value, self.devices[device.value - 100][number])
        return self.result("cuDeviceGetAttribute")


class DetectionTest(unittest.TestCase):
    def testNoDriver(self):
        self.assertEqual(gpu_detection.computeCapabilities(None), [])

    def testNoDevice(self):
        self.assertEqual(gpu_detection.computeCapabilities(FakeDriver([])), [])

    def testTwoDevicesKeepTheirOrder(self):
        driver = FakeDriver([(9, 0), (10, 3)])
        self.assertEqual(
            gpu_detection.computeCapabilities(driver), [(9, 0), (10, 3)]
        )

    def testFailingCallMeansNoDevice(self):
        for name in (
            "cuInit",
            "cuDeviceGetCount",
            "cuDeviceGet",
            "cuDeviceGetAttribute",
        ):
            driver = FakeDriver([(9, 0)], fail=name)
            self.assertEqual(
                gpu_detection.computeCapabilities(driver), [], name
            )


class TargetsTest(unittest.TestCase):
    def testOnlyQuotedTargetsCount(self):
        text = (
            "Allowed values: 'compute_90','sm_90','sm_90a','sm_100f'.\n"
            "Note: sm_70 was removed."
        )
        self.assertEqual(
            cuda_tools.parseTargets(text), ["sm_100f", "sm_90", "sm_90a"]
        )

    def testMissingToolHasNoTargets(self):
        self.assertEqual(cuda_tools.ptxasTargets("/nonexistent/ptxas"), [])


if __name__ == "__main__":
    unittest.main()
