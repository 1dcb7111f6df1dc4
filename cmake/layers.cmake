# The floors of the house. A library uses only libraries of lower floors, never a sibling.
#
#   angio_library(probe FLOOR 2 DEPS base host model THIRD_PARTY angio_pugixml)
#
# makes target angio_probe from every *.cpp of the folder (and its sub-folders): foo.cpp is product,
# foo_test.cpp goes into angio_probe_test (label unit), foo_shared_test.cpp into angio_probe_shared_test
# (label shared: real inputs that are not in the repository), foo_fuzz.cpp becomes a libFuzzer harness of its own.
# COLD: compiled quickly rather than well, for what is not in any loop that a user waits for.
# The table is written to layers.json, which tools/check_layers.py holds against every #include.
set_property(GLOBAL PROPERTY ANGIO_LAYERS "")

# What the sanitizer and fuzz checks build, and nothing else.
if(ANGIO_UNIT_TESTS)
  add_custom_target(angio_unit_tests)
endif()
if(ANGIO_FUZZ)
  add_custom_target(angio_fuzzers)
endif()

# For code that runs once a command and not in a loop: half the time to compile. At -O1 g++ 12 sees uninitialized
# values in moved-from temporaries that are none.
function(angio_compile_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1 -Wno-maybe-uninitialized>)
endfunction()

# Tests call the product, which is compiled as it ships; their own code may be slow. With sanitizers it compiles in a
# third of the time so.
function(angio_compile_test target)
  target_compile_options(${target} PRIVATE -O0)
endfunction()

# The headers that nearly every source includes, compiled once: about a third of a clean build.
# A compiler that is not the one which made them (clang-tidy) reads them as text.
option(ANGIO_PRECOMPILED_HEADERS "Compile the common headers once" ON)
if(ANGIO_PRECOMPILED_HEADERS)
  file(WRITE ${CMAKE_BINARY_DIR}/common_headers.cpp "")
  add_library(angio_common_headers OBJECT ${CMAKE_BINARY_DIR}/common_headers.cpp)
  add_library(angio_cold_headers OBJECT ${CMAKE_BINARY_DIR}/common_headers.cpp)
  angio_compile_cold(angio_cold_headers)
  foreach(precompiled angio_common_headers angio_cold_headers)
    target_link_libraries(${precompiled} PRIVATE angio_options angio_fmt)
    target_precompile_headers(${precompiled} PRIVATE
      <algorithm> <array> <cstdint> <expected> <map> <memory> <optional> <span> <string> <string_view> <utility>
      <variant> <vector> <fmt/format.h>)
  endforeach()
  if(ANGIO_TESTS)
    add_library(angio_test_headers OBJECT ${CMAKE_BINARY_DIR}/common_headers.cpp)
    angio_compile_test(angio_test_headers)
    target_link_libraries(angio_test_headers PRIVATE angio_options angio_fmt GTest::gtest)
    target_precompile_headers(angio_test_headers PRIVATE
      <algorithm> <map> <optional> <string> <string_view> <vector> <fmt/format.h> <gtest/gtest.h>)
  endif()
endif()

function(angio_use_common_headers target precompiled)
  if(ANGIO_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

function(angio_library name)
  cmake_parse_arguments(arg "COLD" "FLOOR" "DEPS;THIRD_PARTY" ${ARGN})
  if(NOT DEFINED arg_FLOOR)
    message(FATAL_ERROR "angio_library(${name}): FLOOR is missing")
  endif()
  foreach(dep IN LISTS arg_DEPS)
    get_property(dep_floor GLOBAL PROPERTY ANGIO_FLOOR_${dep})
    if(dep_floor STREQUAL "")
      message(FATAL_ERROR "angio_library(${name}): ${dep} is not declared yet; lower floors come first")
    endif()
    if(NOT dep_floor LESS arg_FLOOR)
      message(FATAL_ERROR "angio_library(${name}): floor ${arg_FLOOR} may not use ${dep} on floor ${dep_floor}")
    endif()
  endforeach()
  set_property(GLOBAL PROPERTY ANGIO_FLOOR_${name} ${arg_FLOOR})
  list(JOIN arg_DEPS "\",\"" deps_json)
  set_property(GLOBAL APPEND PROPERTY ANGIO_LAYERS
    "\"${name}\":{\"floor\":${arg_FLOOR},\"deps\":[\"${deps_json}\"]}")

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  set(shared_tests ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests EXCLUDE REGEX "_shared_test\\.cpp$")
  list(FILTER shared_tests INCLUDE REGEX "_shared_test\\.cpp$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")

  add_library(angio_${name} STATIC ${sources})
  target_link_libraries(angio_${name} PUBLIC angio_options PRIVATE ${arg_THIRD_PARTY})
  if(arg_COLD)
    angio_compile_cold(angio_${name})
    angio_use_common_headers(angio_${name} angio_cold_headers)
  else()
    angio_use_common_headers(angio_${name} angio_common_headers)
  endif()
  foreach(dep IN LISTS arg_DEPS)
    target_link_libraries(angio_${name} PUBLIC angio_${dep})
  endforeach()
  if(ANGIO_UNIT_TESTS AND tests)
    angio_test(angio_${name}_test LABEL unit ${tests} LIBRARIES angio_${name} ${arg_THIRD_PARTY})
  endif()
  if(ANGIO_TESTS AND shared_tests)
    angio_test(angio_${name}_shared_test LABEL shared ${shared_tests} LIBRARIES angio_${name} ${arg_THIRD_PARTY})
  endif()
  if(ANGIO_FUZZ)
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(stem ${fuzzer} NAME_WE)
      add_executable(${stem} ${fuzzer})
      target_compile_options(${stem} PRIVATE -fsanitize=fuzzer)
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${stem} PRIVATE angio_${name})
      add_dependencies(angio_fuzzers ${stem})
    endforeach()
  endif()
endfunction()

# angio_test(name LABEL label source… LIBRARIES lib…): one GoogleTest program, one ctest entry; without ANGIO_UNIT_TESTS
# none of label unit.
function(angio_test name)
  cmake_parse_arguments(arg "" "LABEL" "LIBRARIES" ${ARGN})
  if(arg_LABEL STREQUAL unit AND NOT ANGIO_UNIT_TESTS)
    return()
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} angio_fmt GTest::gtest GTest::gtest_main)
  angio_compile_test(${name})
  angio_use_common_headers(${name} angio_test_headers)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL})
  if(arg_LABEL STREQUAL unit)
    add_dependencies(angio_unit_tests ${name})
  endif()
endfunction()

# Writes the floors for tools/check_layers.py. Call once, after the last angio_library.
function(angio_write_layers)
  get_property(layers GLOBAL PROPERTY ANGIO_LAYERS)
  list(JOIN layers ",\n" body)
  file(WRITE ${CMAKE_BINARY_DIR}/layers.json "{\n${body}\n}\n")
endfunction()
