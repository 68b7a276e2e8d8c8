# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Looks for the CUDA toolkit's command-line tools, which tests use when they
# are there. Those on PATH win; then CUDA_HOME, CUDA_PATH and the default
# folder of the toolkit; then the PyPI packages in the checkout's .venv.
# Nothing here is required: a missing tool leaves its variable empty and the
# tests that need it are skipped.

file(GLOB d2k_venv_cuda_bins
  "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/bin")
foreach(tool nvcc ptxas nvdisasm cuobjdump)
  string(TOUPPER "D2K_${tool}" variable)
  # The PyPI tools may appear after the first configuration, so an empty
  # result is never cached.
  if(NOT ${variable})
    unset(${variable} CACHE)
  endif()
  find_program(${variable} ${tool}
    HINTS ENV PATH
    PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${d2k_venv_cuda_bins}
    PATH_SUFFIXES bin
    DOC "The CUDA toolkit's ${tool}; may be empty")
  mark_as_advanced(${variable})
  if(NOT ${variable})
    set(${variable} "" CACHE FILEPATH "The CUDA toolkit's ${tool}" FORCE)
  endif()
endforeach()
