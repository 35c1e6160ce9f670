# room(<name> [SEES <room>...] [LINKS <target>...] [TEST_LINKS <target>...])
#
# One folder of src/ is one room: one static library `weft_<name>`, and one GoogleTest program
# `<name>_test` made of the `*_test.cc` beside the sources. `*_testing.{h,cc}` are helpers that only
# the room's tests use. Four rules are kept by the build, not by reviewers:
#   1. SEES names only rooms declared above, so neither a cycle nor an upward edge can be written.
#   2. Every room has its own include view, a folder of symlinks to itself and to what it sees.
#      A header of any other room is "No such file". Views are not inherited.
#   3. With WEFT_HOUSE_CHECKS, each room is linked as a shared library against the rooms it sees and
#      nothing else. A symbol smuggled in by a forward declaration is an undefined reference.
#   4. With WEFT_ALONE_CHECKS, the compiler reads every source and every header alone, which a
#      build of several sources at a time (WEFT_UNITY) does not show. That takes as long as
#      compiling, so `./dev soak` does it; in every test run tools/tidy looks for names without
#      their header.
# A room whose folder is missing or empty is skipped with a message and appears by itself once it
# has a source. LINKS are other libraries the room's code uses; TEST_LINKS only its tests.

option(WEFT_HOUSE_CHECKS "Link each room alone" OFF)
option(WEFT_ALONE_CHECKS "Read each source and each header alone (the target read_alone)" OFF)
option(WEFT_TESTS "Build the tests" ON)
option(WEFT_TEST_PER_BINARY "One ctest entry per test program instead of one per test" OFF)
option(WEFT_UNITY "Compile several sources of a target at a time" ON)
set(WEFT_UNITY_BATCH 16 CACHE STRING "How many sources are compiled at a time")

set(WEFT_SOURCE_ROOT "${CMAKE_CURRENT_SOURCE_DIR}/src")

# Makes the folder views/<name> that holds one symlink per room in ARGN and sets <out> to its path.
function(room_view out name)
  set(view "${CMAKE_BINARY_DIR}/views/${name}")
  file(MAKE_DIRECTORY "${view}")
  file(GLOB old RELATIVE "${view}" "${view}/*")
  foreach(link IN LISTS old)
    if(NOT link IN_LIST ARGN AND NOT link STREQUAL name)
      file(REMOVE "${view}/${link}")
    endif()
  endforeach()
  foreach(room IN LISTS ARGN)
    if(NOT EXISTS "${view}/${room}")
      file(CREATE_LINK "${WEFT_SOURCE_ROOT}/${room}" "${view}/${room}" SYMBOLIC)
    endif()
  endforeach()
  set(${out} "${view}" PARENT_SCOPE)
endfunction()

# Sets <out> to the rooms among ARGN that have sources now.
function(rooms_present out)
  get_property(built GLOBAL PROPERTY WEFT_ROOMS_BUILT)
  set(present)
  foreach(room IN LISTS ARGN)
    if(room IN_LIST built)
      list(APPEND present "${room}")
    endif()
  endforeach()
  set(${out} "${present}" PARENT_SCOPE)
endfunction()

# Sets <out> to all rooms built so far.
function(rooms_all out)
  get_property(built GLOBAL PROPERTY WEFT_ROOMS_BUILT)
  set(${out} "${built}" PARENT_SCOPE)
endfunction()

function(room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SEES;LINKS;TEST_LINKS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "room ${name}: unknown argument '${arg_UNPARSED_ARGUMENTS}'; "
                        "the lists are SEES, LINKS and TEST_LINKS")
  endif()
  get_property(declared GLOBAL PROPERTY WEFT_ROOMS_DECLARED)
  if(name IN_LIST declared)
    message(FATAL_ERROR "room ${name} is declared twice")
  endif()
  foreach(seen IN LISTS arg_SEES)
    if(NOT seen IN_LIST declared)
      message(FATAL_ERROR "room ${name} cannot see '${seen}': no such room is declared above it. "
                          "A room sees only rooms of lower levels, so no cycle can be written.")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WEFT_ROOMS_DECLARED "${name}")

  set(dir "${WEFT_SOURCE_ROOT}/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${dir}/*.cc")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${dir}/*.h")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_(test|testing)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|testing)\\.cc$")
  list(FILTER headers EXCLUDE REGEX "_testing\\.h$")
  if(NOT sources AND NOT headers)
    message(STATUS "room ${name}: skipped, it has no sources yet")
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY WEFT_ROOMS_BUILT "${name}")

  rooms_present(sees ${arg_SEES})
  room_view(view "${name}" "${name}" ${sees})
  if(NOT sources)
    set(sources "${CMAKE_BINARY_DIR}/views/${name}.cc")  # a room of headers only
    file(CONFIGURE OUTPUT "${sources}" CONTENT "namespace {}\n")
  endif()

  list(TRANSFORM sees PREPEND "weft_" OUTPUT_VARIABLE seen_libraries)
  add_library(weft_${name} STATIC ${sources} ${headers})
  target_link_libraries(weft_${name} PUBLIC ${seen_libraries} ${arg_LINKS})
  room_flags(weft_${name} "${view}")
  room_unity(weft_${name} ${sources})

  if(WEFT_HOUSE_CHECKS)
    room_link_test("${name}" SEES ${sees} LINKS ${arg_LINKS})
  endif()
  room_alone_test("${name}" "${view}" SOURCES ${sources} HEADERS ${headers} LINKS weft_${name})
  if(WEFT_TESTS AND tests)
    room_test(${name}_test "${view}" SOURCES ${tests} LINKS weft_${name} ${arg_TEST_LINKS})
  endif()
endfunction()

# With WEFT_UNITY, WEFT_UNITY_BATCH sources of <target> at a time are compiled as one: most of the
# time goes into headers, which are read once for all of them. Sources that Highway compiles once
# for each kind of processor include themselves again and stay alone.
function(room_unity target)
  if(NOT WEFT_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${WEFT_UNITY_BATCH})
  sources_for_every_processor(single ${ARGN})
  if(single)
    set_source_files_properties(${single} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Sets <out> to the sources among ARGN that Highway compiles once for each kind of processor.
function(sources_for_every_processor out)
  set(single)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" includes_itself REGEX "foreach_target\\.h" LIMIT_COUNT 1)
    if(includes_itself)
      list(APPEND single "${source}")
    endif()
  endforeach()
  set(${out} "${single}" PARENT_SCOPE)
endfunction()

# The include view of a target, and the project's warnings where the project defines them.
function(room_flags target view)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE "${view}")
  # Paths in the program (__FILE__, debug information) count from the root of the project, also
  # those of headers, which come through the view. Compilers may be handed either kind of path,
  # and the last map that fits is taken.
  file(RELATIVE_PATH root_from_build "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}")
  file(RELATIVE_PATH view_from_build "${CMAKE_BINARY_DIR}" "${view}")
  target_compile_options(${target} PRIVATE
    "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=" "-ffile-prefix-map=${root_from_build}="
    "-ffile-prefix-map=${view}/=src/" "-ffile-prefix-map=${view_from_build}/=src/")
  if(TARGET weft_flags)
    target_link_libraries(${target} PRIVATE weft_flags)
  endif()
endfunction()

# A GoogleTest program whose tests ctest runs, with a label if one is given.
function(room_test target view)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LABEL" "SOURCES;LINKS")
  include(GoogleTest)
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  room_flags(${target} "${view}")
  room_unity(${target} ${arg_SOURCES})
  if(TARGET weft_test_flags)
    target_link_libraries(${target} PRIVATE weft_test_flags)
  endif()
  if(WEFT_TEST_PER_BINARY)
    add_test(NAME ${target} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${target} PROPERTIES LABELS "${arg_LABEL}")
  else()
    string(REGEX REPLACE "_test$" "." prefix "${target}")  # for `ctest -R policy`
    gtest_discover_tests(${target} TEST_PREFIX "${prefix}" DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS "${arg_LABEL}")
  endif()
endfunction()

# Rule 3. A shared library may leave nothing undefined (-z defs) and is not helped by what its
# neighbours link in turn, so only the rooms that are seen directly can supply a symbol. A chain of
# static archives could not tell a room from the room behind it.
function(room_link_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SEES;LINKS")
  list(TRANSFORM arg_SEES APPEND "_links_alone")
  set(anchor "${CMAKE_BINARY_DIR}/views/links_alone.cc")
  file(CONFIGURE OUTPUT "${anchor}" CONTENT "namespace {}\n")
  set_target_properties(weft_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(${name}_links_alone SHARED "${anchor}")
  add_dependencies(${name}_links_alone weft_${name})
  set_target_properties(${name}_links_alone PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/views/links_alone"
    LINK_DEPENDS "$<TARGET_FILE:weft_${name}>")
  target_link_options(${name}_links_alone PRIVATE -Wl,-z,defs)
  target_link_libraries(${name}_links_alone PRIVATE
    "$<LINK_LIBRARY:WHOLE_ARCHIVE,$<TARGET_FILE:weft_${name}>>" ${arg_SEES} ${arg_LINKS})
endfunction()

# Rule 4. <name>_alone reads each source by itself, and each header that no source of the room has
# as its first line; nothing is generated. Sources are looked at when the build is configured: one
# whose first line changes counts as before until then.
function(room_alone_test name view)
  if(NOT WEFT_ALONE_CHECKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;HEADERS;LINKS")
  sources_for_every_processor(single ${arg_SOURCES})  # these are compiled alone anyway
  list(REMOVE_ITEM arg_SOURCES ${single})
  foreach(source IN LISTS arg_SOURCES)
    file(STRINGS "${source}" first REGEX "^([^/]|/[^/])" LIMIT_COUNT 1)
    if(first MATCHES "^#include \"([^\"]+)\"")
      cmake_path(GET source PARENT_PATH folder)
      list(REMOVE_ITEM arg_HEADERS "${WEFT_SOURCE_ROOT}/${CMAKE_MATCH_1}"
                                   "${folder}/${CMAKE_MATCH_1}")
    endif()
  endforeach()
  foreach(header IN LISTS arg_HEADERS)
    file(RELATIVE_PATH path "${CMAKE_SOURCE_DIR}" "${header}")
    set(source "${CMAKE_BINARY_DIR}/alone/${path}.cc")
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n")
    list(APPEND arg_SOURCES "${source}")
  endforeach()
  add_library(${name}_alone OBJECT ${arg_SOURCES})
  target_link_libraries(${name}_alone PRIVATE ${arg_LINKS})
  room_flags(${name}_alone "${view}")
  set_target_properties(${name}_alone PROPERTIES UNITY_BUILD OFF
    CXX_COMPILER_LAUNCHER "${WEFT_SYNTAX_ONLY}")
  if(NOT TARGET read_alone)
    add_custom_target(read_alone)
  endif()
  add_dependencies(read_alone ${name}_alone)
endfunction()

set(WEFT_SYNTAX_ONLY "${CMAKE_CURRENT_LIST_DIR}/syntax_only.sh")
