# Warnings, sanitizers and definitions that every target of the project shares.

# Each release of a compiler brings warnings of its own, some of them false. The one that CI runs
# (Debian 12) refuses them all; with any other, a warning must not stop who only wants to build.
set(weft_werror_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(weft_werror_default ON)
endif()
option(WEFT_WERROR "Treat warnings as errors" ${weft_werror_default})
set(WEFT_SANITIZE "" CACHE STRING "Value for -fsanitize=, for example address,undefined")

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi
  -Wfloat-conversion -Wimplicit-fallthrough)
if(WEFT_WERROR)
  target_compile_options(weft_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns falsely about std::string + (GCC bug 105651) and, when it optimises, about the
  # alternatives of a std::variant that is not in use.
  target_compile_options(weft_flags INTERFACE -Wsuggest-override -Wno-restrict
                         -Wno-maybe-uninitialized)
endif()

# From fmt 12 on, fmt/core.h has fmt::format only on request; fmt/format.h has it everywhere, but
# costs more with fmt 9.
add_compile_definitions(FMT_DEPRECATED_HEAVY_CORE)

if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
endif()
# Checks of every pointer for null and alignment are half of the time in which a sanitizer's build
# is compiled. The first the address sanitizer makes as well; the second matters where bytes are
# read as numbers: rooms that do so ask for it.
function(weft_check_alignment)
  foreach(target IN LISTS ARGN)
    if("undefined" IN_LIST weft_sanitizers AND TARGET ${target})
      target_compile_options(${target} PRIVATE -fsanitize=alignment)
    endif()
  endforeach()
endfunction()
string(REPLACE "," ";" weft_sanitizers "${WEFT_SANITIZE}")
if("undefined" IN_LIST weft_sanitizers)
  add_compile_options(-fno-sanitize=null,alignment)
endif()
if(WEFT_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage, which guides the mutations
endif()

# With its base folder known, ccache shares results between clones of the project.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_ABSSTDERR=1 "${CCACHE_PROGRAM}")
endif()
