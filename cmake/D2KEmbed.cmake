# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# d2k_embed_text(source variable out) writes a C++ file that defines
#
#   extern const char *const <variable>
#
# in namespace d2k::embedded, with the text of the file `source`: programs find
# their schemas wherever they are installed. `out` receives the file's path.

include_guard(GLOBAL)

function(d2k_embed_text source variable out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${variable}.cpp")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT
"// Generated from a file of the source tree; see cmake/D2KEmbed.cmake.
namespace d2k::embedded {
extern const char *const ${variable};
const char *const ${variable} = R\"d2k_text(@text@)d2k_text\";
} // namespace d2k::embedded
")
  set(${out} "${output}" PARENT_SCOPE)
endfunction()
