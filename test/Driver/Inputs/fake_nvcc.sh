#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Behaves like an nvcc whose ptxas is not installed.
case "$*" in
*--version*) echo "Cuda compilation tools, release 13.0, V13.0.88" ;;
*) echo "sh: 1: ptxas: not found" >&2; exit 127 ;;
esac
