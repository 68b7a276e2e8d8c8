# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The target tl::expected: a header of the package libexpected-dev. A machine
# that only runs kernels may lack the package and have the header: its folder
# (the one that holds tl/) is D2K_EXPECTED_INCLUDE, or .cache/include in the
# checkout.

find_package(tl-expected CONFIG QUIET)
if(TARGET tl::expected)
  return()
endif()
find_path(D2K_EXPECTED_INCLUDE tl/expected.hpp
  PATHS "${CMAKE_SOURCE_DIR}/.cache/include"
  DOC "The folder that holds tl/expected.hpp")
if(NOT D2K_EXPECTED_INCLUDE)
  message(FATAL_ERROR
    "tl/expected.hpp is missing: install libexpected-dev, or copy the header "
    "to .cache/include/tl in the checkout")
endif()
add_library(tl::expected INTERFACE IMPORTED)
set_target_properties(tl::expected PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${D2K_EXPECTED_INCLUDE}")
