# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Looks for the CUDA toolkit's command-line tools, which tests use when they
# are there. The order is that of include/d2k/Support/CudaTools.h: a variable
# D2K_<TOOL> of the environment, PATH, CUDA_HOME, CUDA_PATH, the default
# folders of the toolkit with the newest first, and last the PyPI packages in
# the checkout's .venv. Nothing here is required: a missing tool leaves its
# variable empty and the tests that need it are skipped.

file(GLOB d2k_cuda_folders "/usr/local/cuda-*")
list(SORT d2k_cuda_folders COMPARE NATURAL ORDER DESCENDING)
file(GLOB d2k_venv_cuda_folders
  "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*")
foreach(tool nvcc ptxas nvdisasm cuobjdump)
  string(TOUPPER "D2K_${tool}" variable)
  # A tool may appear after the first configuration, so an empty result is
  # never kept.
  if(NOT ${variable})
    unset(${variable} CACHE)
  endif()
  if(NOT "$ENV{${variable}}" STREQUAL "")
    set(${variable} "$ENV{${variable}}" CACHE FILEPATH
      "The CUDA toolkit's ${tool}" FORCE)
  endif()
  find_program(${variable} ${tool}
    HINTS ENV PATH
    DOC "The CUDA toolkit's ${tool}; may be empty")
  find_program(${variable} ${tool}
    PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${d2k_cuda_folders}
      ${d2k_venv_cuda_folders}
    PATH_SUFFIXES bin
    NO_DEFAULT_PATH)
  mark_as_advanced(${variable})
  if(NOT ${variable})
    set(${variable} "" CACHE FILEPATH "The CUDA toolkit's ${tool}" FORCE)
  endif()
endforeach()

# The headers of the driver and of CUPTI, beside nvcc or in a default folder.
# Without them the oracle and the worker of d2k-run are not built.
set(d2k_cuda_include_hints "")
if(D2K_NVCC)
  get_filename_component(d2k_nvcc_real "${D2K_NVCC}" REALPATH)
  get_filename_component(d2k_nvcc_bin "${d2k_nvcc_real}" DIRECTORY)
  set(d2k_cuda_include_hints "${d2k_nvcc_bin}/../include")
endif()
if(NOT D2K_CUDA_INCLUDE)
  unset(D2K_CUDA_INCLUDE CACHE)
endif()
find_path(D2K_CUDA_INCLUDE cuda.h
  HINTS ${d2k_cuda_include_hints}
  PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${d2k_cuda_folders}
  PATH_SUFFIXES include
  DOC "The folder of cuda.h; may be empty")
mark_as_advanced(D2K_CUDA_INCLUDE)
if(NOT D2K_CUDA_INCLUDE)
  set(D2K_CUDA_INCLUDE "" CACHE PATH "The folder of cuda.h" FORCE)
endif()
