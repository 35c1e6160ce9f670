# Builds a project of four small rooms with cmake/Room.cmake, then plants one violation at a time
# and checks that the build refuses it with the message a developer would look for.
#
#   cmake -D ROOM=<Room.cmake> -D COMPILER=<c++> -D WORK=<scratch folder> -P house_test.cmake

cmake_minimum_required(VERSION 3.25)
set(ENV{LC_ALL} C)  # plain quotes in the messages of the compiler

# The clean project: cellar < floor < attic, and roof, which is above all of them. attic sees floor
# but not cellar, although floor does and although both are linked in the end.
function(lay_clean_house)
  file(REMOVE_RECURSE "${WORK}/src")
  set(lists [[
room(cellar)
room(floor SEES cellar)
room(attic SEES floor)
room(roof SEES cellar floor attic)
]])
  house_lists("${lists}")
  file(WRITE "${WORK}/src/cellar/cellar.h" "#pragma once\nint cellar_depth();\n")
  file(WRITE "${WORK}/src/cellar/cellar.cc"
    "#include \"cellar/cellar.h\"\nint cellar_depth() { return 3; }\n")
  file(WRITE "${WORK}/src/floor/floor.h" "#pragma once\nint floor_height();\n")
  file(WRITE "${WORK}/src/floor/floor.cc"
    "#include \"floor/floor.h\"\n#include \"cellar/cellar.h\"\n"
    "int floor_height() { return cellar_depth() + 1; }\n")
  file(WRITE "${WORK}/src/attic/attic.h"  # a room of headers only
    "#pragma once\n#include \"floor/floor.h\"\ninline int attic() { return floor_height(); }\n")
  file(WRITE "${WORK}/src/roof/roof.h" "#pragma once\nint roof_height();\n")
  file(WRITE "${WORK}/src/roof/roof.cc"
    "#include \"attic/attic.h\"\n#include \"cellar/cellar.h\"\n#include \"roof/roof.h\"\n"
    "int roof_height() { return attic() + cellar_depth(); }\n")
endfunction()

function(house_lists lists)
  file(WRITE "${WORK}/CMakeLists.txt"
    "cmake_minimum_required(VERSION 3.25)\nproject(house LANGUAGES CXX)\n"
    "include(\"${ROOM}\")\n${lists}\n")
endfunction()

# Configures and builds; sets <code> and <output>. The build folder is kept between cases, because
# probing the compiler anew would cost more than all the rest.
function(build_house code output)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -G Ninja -S "${WORK}" -B "${WORK}/build" -D WEFT_HOUSE_CHECKS=ON
            -D WEFT_ALONE_CHECKS=ON -D WEFT_TESTS=OFF "-DCMAKE_CXX_COMPILER=${COMPILER}"
            "-DCMAKE_CXX_FLAGS=-O0 -Wall"
    RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(result EQUAL 0)
    execute_process(COMMAND ${CMAKE_COMMAND} --build "${WORK}/build" -- -k 0 all read_alone
      RESULT_VARIABLE result OUTPUT_VARIABLE more ERROR_VARIABLE more)
    string(APPEND text "${more}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " text "${text}")  # CMake wraps its messages
  set(${code} "${result}" PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

function(expect_pass what)
  build_house(code output)
  if(NOT code EQUAL 0)
    message(SEND_ERROR "${what}: the build must pass but failed:\n${output}")
  else()
    message(STATUS "passes: ${what}")
  endif()
endfunction()

function(expect_refusal what pattern)
  build_house(code output)
  if(code EQUAL 0)
    message(SEND_ERROR "${what}: the build must fail but passed")
  elseif(NOT output MATCHES "${pattern}")
    message(SEND_ERROR "${what}: failed without saying \"${pattern}\":\n${output}")
  else()
    message(STATUS "refused: ${what}: ${CMAKE_MATCH_0}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
lay_clean_house()
expect_pass("four rooms that keep the rules")

lay_clean_house()
file(APPEND "${WORK}/src/floor/floor.cc" "#include \"roof/roof.h\"\n")
expect_refusal("an include of a room above" "roof/roof.h: No such file")

lay_clean_house()
file(APPEND "${WORK}/src/attic/attic.h" "#include \"cellar/cellar.h\"\n")
expect_refusal("an include of a room that only a seen room sees" "cellar/cellar.h: No such file")

lay_clean_house()
house_lists("room(cellar SEES floor)\nroom(floor SEES cellar)")
expect_refusal("an upward edge" "room cellar cannot see 'floor': no such room is declared above it")

lay_clean_house()
house_lists("room(cellar)\nroom(cellar)")
expect_refusal("a room declared twice" "room cellar is declared twice")

lay_clean_house()
house_lists("room(cellar SEE floor)")
expect_refusal("a misspelt list" "room cellar: unknown argument 'SEE;floor'")

lay_clean_house()
file(APPEND "${WORK}/src/cellar/cellar.cc"
  "int roof_height();\nint smuggled() { return roof_height(); }\n")
expect_refusal("a symbol smuggled from above" "undefined reference to `roof_height\\(\\)'")

lay_clean_house()
file(WRITE "${WORK}/src/attic/attic.cc"
  "int cellar_depth();\nint smuggled() { return cellar_depth(); }\n")
expect_refusal("a symbol smuggled from a room that only a seen room sees"
  "undefined reference to symbol '_Z12cellar_depthv'|undefined reference to `cellar_depth\\(\\)'")

lay_clean_house()
file(WRITE "${WORK}/src/floor/size.h" "#pragma once\nstd::size_t size();\n")
expect_refusal("a header that does not compile alone"
  "size.h[^ ]* error: 'size_t' in namespace 'std' does not name a type")

# A header that a source shows to stand alone is not compiled again; only the first line shows it.
# (That only a source of the header's own room does, the include of attic.h above has shown.)
set(shown "#include \"floor/size.h\"\n")
foreach(place IN ITEMS
    "first|${shown}" "behind another header|#include <cstddef>\n${shown}"
    "behind a declaration|namespace std { enum size_t : int\; }\n${shown}"
    "behind a condition|#if 0\n${shown}#endif\n" "in a comment|/*\n${shown}*/\n")
  string(REGEX MATCH "^([^|]*)\\|(.*)$" place "${place}")
  lay_clean_house()
  file(WRITE "${WORK}/src/floor/size.h" "#pragma once\nstd::size_t size();\n")
  file(WRITE "${WORK}/src/floor/size.cc" "// A comment.\n\n${CMAKE_MATCH_2}")
  expect_refusal("a header that does not compile alone, ${CMAKE_MATCH_1} in a source"
    "size.h[^ ]* error: 'size_t' in namespace 'std' does not name a type")
endforeach()

lay_clean_house()
house_lists("room(cellar)\nroom(pantry SEES cellar)\nroom(floor SEES cellar pantry)")
expect_pass("a declared room that has no folder yet")
