# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles through ccache. Paths below the folder that holds the checkout are
# made relative before hashing, so that sibling checkouts (git worktrees, a
# fresh clone beside this one) share results. The working directory is part of
# the hash only when the object records it, that is with debug information.

if(NOT D2K_CCACHE)
  return()
endif()
find_program(D2K_CCACHE_EXECUTABLE ccache)
mark_as_advanced(D2K_CCACHE_EXECUTABLE)
if(NOT D2K_CCACHE_EXECUTABLE)
  message(STATUS "ccache: not found, compiling without it")
  return()
endif()

get_filename_component(d2k_ccache_base "${CMAKE_SOURCE_DIR}" DIRECTORY)
set(d2k_ccache_launcher env "CCACHE_BASEDIR=${d2k_ccache_base}")
if(NOT CMAKE_BUILD_TYPE MATCHES "Debug|RelWithDebInfo")
  list(APPEND d2k_ccache_launcher "CCACHE_NOHASHDIR=1")
endif()
list(APPEND d2k_ccache_launcher "${D2K_CCACHE_EXECUTABLE}")
foreach(language C CXX)
  if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${d2k_ccache_launcher})
  endif()
endforeach()
