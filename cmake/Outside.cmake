# What stands above the rooms: the command line, tests that cross rooms, benchmarks, fuzz targets.

# Sets <view> and <libraries> for a target that sees every room. The view also holds a link to the
# folder of that name at the root of the project, for `#include "apps/weft/…"` and the like.
macro(outside_view name view libraries)
  rooms_all(outside_rooms)
  room_view(${view} "${name}" ${outside_rooms})
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${name}" "${${view}}/${name}" SYMBOLIC)
  list(TRANSFORM outside_rooms PREPEND "weft_" OUTPUT_VARIABLE ${libraries})
endmacro()

# Under sanitizers what stands above the rooms is built and run by `./dev soak` only: it wires rooms
# together, has the costliest files of all, and what is worth checking is in the rooms.
function(outside_in_soak)
  if(WEFT_SANITIZE)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# apps/weft: everything but the two programs' main files is a library, so that its tests can link
# it. What `weft sim` needs is a library of its own, with a program `weft-sim` that links nothing
# else: it takes half as long to build, and `./dev demo` has its table on the screen first.
function(weft_app)
  set(dir "${CMAKE_SOURCE_DIR}/apps/weft")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${dir}/*.cc")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${dir}/*.h")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_(test|testing)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_testing|main)\\.cc$")
  set(sim_sources ${sources})
  list(FILTER sim_sources INCLUDE REGEX
    "/(sim_[a-z]+|report[a-z_]*|trace_source|codec_menus|verb)\\.cc$")
  list(REMOVE_ITEM sources ${sim_sources})

  outside_view(apps view libraries)
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/bench" "${view}/bench" SYMBOLIC)  # bench/peers/measure.h
  app_library(weft_app_sim "${view}" SOURCES ${sim_sources}
              LINKS weft_sim weft_runtime CLI11::CLI11 nlohmann_json::nlohmann_json)
  target_compile_definitions(weft_app_sim PUBLIC WEFT_VERSION="${PROJECT_VERSION}")
  include(cmake/Embed.cmake)
  embed_text(weft_app_sim "${dir}/report_page.html" report_page)
  app_library(weft_app "${view}" SOURCES ${sources}
              LINKS weft_app_sim ${libraries} CLI11::CLI11 nlohmann_json::nlohmann_json)
  room_alone_test(app "${view}" SOURCES ${sources} ${sim_sources} HEADERS ${headers} LINKS weft_app)
  app_program(weft-sim "${view}" sim_main.cc weft_app_sim)
  app_program(weft "${view}" main.cc weft_app)
  if(WEFT_TESTS AND tests)
    room_test(weft_app_test "${view}" LABEL app SOURCES ${tests} LINKS weft_app)
    outside_in_soak(weft_app_test)
  endif()
endfunction()

function(app_library name view)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LINKS")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LINKS})
  room_flags(${name} "${view}")
  room_unity(${name} ${arg_SOURCES})
  outside_in_soak(${name})
endfunction()

function(app_program name view source library)
  add_executable(${name} "${CMAKE_SOURCE_DIR}/apps/weft/${source}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${library})
  room_flags(${name} "${view}")
  outside_in_soak(${name})
endfunction()

# tests/*_test.cc: one program for what crosses rooms; it may run the built command line. Label
# `app`, as the tests of the command line have.
function(weft_cross_tests)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/*_test.cc"
                                      "${CMAKE_SOURCE_DIR}/tests/*_testing.cc")
  if(NOT sources)
    message(STATUS "tests: no cross-room tests yet")
    return()
  endif()
  outside_view(tests view libraries)
  room_test(cross_test "${view}" LABEL app SOURCES ${sources}
            LINKS ${libraries} nlohmann_json::nlohmann_json yaml-cpp::yaml-cpp PkgConfig::CLP)
  outside_in_soak(cross_test)
  if(TARGET weft)
    add_dependencies(cross_test weft)
    target_compile_definitions(cross_test PRIVATE WEFT_BINARY="$<TARGET_FILE:weft>")
  endif()
  add_dependencies(cross_test allreduce_peers)
  if(TARGET simgrid_flows)
    add_dependencies(cross_test simgrid_flows)
    target_compile_definitions(cross_test PRIVATE WEFT_SIMGRID="$<TARGET_FILE:simgrid_flows>")
  endif()
endfunction()

# tests/live/*_test.cc: one program for what needs real processes; label `live`.
function(weft_live_tests)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/live/*_test.cc"
                                      "${CMAKE_SOURCE_DIR}/tests/live/*_testing.cc")
  if(NOT sources OR NOT TARGET weft)
    message(STATUS "tests/live: nothing to build")
    return()
  endif()
  outside_view(tests view libraries)
  room_test(command_test "${view}" LABEL live SOURCES ${sources}
            LINKS ${libraries} nlohmann_json::nlohmann_json)
  # What jobs of these tests run.
  add_executable(member_program "${CMAKE_SOURCE_DIR}/tests/live/member_program.cc")
  target_link_libraries(member_program PRIVATE weft_runtime)
  room_flags(member_program "${view}")
  add_dependencies(command_test weft member_program)
  target_compile_definitions(command_test PRIVATE
    WEFT_BINARY="$<TARGET_FILE:weft>" WEFT_MEMBER_PROGRAM="$<TARGET_FILE:member_program>")
  # `./dev asan` and `./dev tsan` run no live test, so they need not wait for these.
  if(WEFT_SANITIZE)
    set_target_properties(command_test member_program PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  find_program(WEFT_PYTHON python3)
  if(WEFT_PYTHON)
    add_test(NAME crash.kill_drill
      COMMAND "${WEFT_PYTHON}" "${CMAKE_SOURCE_DIR}/tests/crash/kill_drill.py"
              --weft $<TARGET_FILE:weft> --kills 100 --seed 7 --json)
    set_tests_properties(crash.kill_drill PROPERTIES LABELS live TIMEOUT 600)
    add_test(NAME crash.freeze_drill
      COMMAND "${WEFT_PYTHON}" "${CMAKE_SOURCE_DIR}/tests/crash/kill_drill.py"
              --weft $<TARGET_FILE:weft> --kills 40 --seed 3 --freeze --json)
    set_tests_properties(crash.freeze_drill PROPERTIES LABELS live TIMEOUT 400)
    add_test(NAME crash.fault_drill
      COMMAND "${WEFT_PYTHON}" "${CMAKE_SOURCE_DIR}/tests/crash/fault_drill.py"
        --weft "$<TARGET_FILE:weft>" --stop 3)
    set_tests_properties(crash.fault_drill PROPERTIES LABELS live TIMEOUT 300)
  endif()
endfunction()

# bench/simgrid_flows.cc, beside the command line that runs it; only where SimGrid is installed, and
# not under sanitizers, which do not follow its switches between stacks.
function(weft_simgrid_peer)
  find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp)
  find_library(SIMGRID_LIBRARY simgrid)
  if(NOT SIMGRID_INCLUDE_DIR OR NOT SIMGRID_LIBRARY OR WEFT_SANITIZE)
    message(STATUS "SimGrid: not built against, so nothing is compared with it (libsimgrid-dev)")
    return()
  endif()
  outside_view(bench view libraries)
  add_executable(simgrid_flows "${CMAKE_SOURCE_DIR}/bench/simgrid_flows.cc")
  set_target_properties(simgrid_flows PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  target_include_directories(simgrid_flows SYSTEM PRIVATE "${SIMGRID_INCLUDE_DIR}")
  target_link_libraries(simgrid_flows PRIVATE weft_fabric "${SIMGRID_LIBRARY}")
  room_flags(simgrid_flows "${view}")
endfunction()

# peer(NAME PACKAGE SOURCE LIBRARY): bench/peers/SOURCE against another library, beside the command
# line that runs it. LIBRARY is a target; without it nothing is compared with that library.
function(peer name package source library)
  if(NOT TARGET ${library} OR WEFT_SANITIZE)
    message(STATUS "${name}: not built, so nothing is compared with it (${package})")
    return()
  endif()
  outside_view(bench view libraries)
  add_executable(${name} "${CMAKE_SOURCE_DIR}/bench/peers/${source}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE weft_base ${library} fmt::fmt CLI11::CLI11)
  room_flags(${name} "${view}")
  add_dependencies(allreduce_peers ${name})
endfunction()

# The libraries that `weft bench allreduce` is compared with, each where it is installed; the
# target allreduce_peers is all of them.
function(weft_allreduce_peers)
  add_custom_target(allreduce_peers)
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(OPENMPI QUIET IMPORTED_TARGET ompi-c)
    pkg_check_modules(MPICH QUIET IMPORTED_TARGET mpich)
  endif()
  find_path(GLOO_INCLUDE_DIR gloo/allreduce.h)
  find_library(GLOO_LIBRARY gloo)
  if(GLOO_INCLUDE_DIR AND GLOO_LIBRARY)
    add_library(gloo_library INTERFACE)
    target_include_directories(gloo_library SYSTEM INTERFACE "${GLOO_INCLUDE_DIR}")
    target_link_libraries(gloo_library INTERFACE "${GLOO_LIBRARY}" Threads::Threads)
  endif()
  peer(peer_openmpi libopenmpi-dev mpi_allreduce.cc PkgConfig::OPENMPI)
  peer(peer_mpich libmpich-dev mpi_allreduce.cc PkgConfig::MPICH)
  peer(peer_gloo libgloo-dev gloo_allreduce.cc gloo_library)
endfunction()

# bench/*_bench.cc: one program each, in build/<preset>/bench.
function(weft_benchmarks)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*_bench.cc")
  if(NOT sources)
    message(STATUS "bench: no benchmarks yet")
    return()
  endif()
  find_package(benchmark REQUIRED CONFIG)
  outside_view(bench view libraries)
  # For a daemon's simulated world.
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/tests" "${view}/tests" SYMBOLIC)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    add_executable(bench_${name} "${source}")
    set_target_properties(bench_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
      target_compile_definitions(bench_${name} PRIVATE
      WEFT_SHARED_DATA="${WEFT_DATA}" WEFT_BINARY="$<TARGET_FILE:weft>")
    target_link_libraries(bench_${name} PRIVATE ${libraries} benchmark::benchmark
                                                nlohmann_json::nlohmann_json)
    room_flags(bench_${name} "${view}")
  endforeach()
endfunction()

# fuzz/<name>_fuzz.cc defines LLVMFuzzerTestOneInput. Under clang it is a libFuzzer program; in
# every other build fuzz/driver.cc runs it on fuzz/corpus/<name> and on seeded mutations of that, as
# the test `fuzz_<name>`.
function(weft_fuzz_targets)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc")
  if(NOT sources)
    message(STATUS "fuzz: no fuzz targets yet")
    return()
  endif()
  outside_view(fuzz view libraries)
  if(NOT WEFT_LIBFUZZER)
    add_library(fuzz_driver STATIC "${CMAKE_SOURCE_DIR}/fuzz/driver.cc")
    room_flags(fuzz_driver "${view}")
    target_link_libraries(fuzz_driver PRIVATE ${libraries})
  endif()
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM target)
    string(REGEX REPLACE "_fuzz$" "" name "${target}")
    set(corpus "${CMAKE_SOURCE_DIR}/fuzz/corpus/${name}")
    add_executable(${target} "${source}")
      target_link_libraries(${target} PRIVATE ${libraries})
    room_flags(${target} "${view}")
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
    if(WEFT_LIBFUZZER)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
      target_link_libraries(${target} PRIVATE fuzz_driver)
      add_test(NAME fuzz_${name} COMMAND ${target} --runs 2000 "${corpus}")
      set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz)
      add_test(NAME fuzz_${name}_soak COMMAND ${target} --runs 500000 "${corpus}")
      set_tests_properties(fuzz_${name}_soak PROPERTIES LABELS "fuzz;soak" TIMEOUT 3600)
    endif()
  endforeach()
endfunction()
