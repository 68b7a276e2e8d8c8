# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the installed CUDA command-line tools can do.

import re
import subprocess


def parseTargets(helpText):
    """The sm_ targets that `ptxas --help` lists, sorted.

    Only the quoted form counts ('sm_90a'): the prose of the help also names
    targets that ptxas no longer accepts.
    """
    return sorted(set(re.findall(r"'(sm_\d+[af]?)'", helpText)))


def ptxasTargets(ptxas):
    """parseTargets of an installed ptxas; empty when it does not run."""
    try:
        result = subprocess.run(
            [ptxas, "--help"], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return parseTargets(result.stdout)
