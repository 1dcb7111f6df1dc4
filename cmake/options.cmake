# Warnings, sanitizers and link rules that every target shares.
# phantom/, which takes nothing else of this, has these too.
set(ANGIO_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wimplicit-fallthrough -fno-strict-aliasing -fvisibility=hidden
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond> $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op>)
# g++ 12 sees overlaps in std::string that cannot be (GCC bug 105651), 13 still some in the library's copies.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  list(APPEND ANGIO_WARNINGS -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# clang with libstdc++ 12: std::stable_sort itself calls what C++17 deprecated.
list(APPEND ANGIO_WARNINGS $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
add_library(angio_options INTERFACE)
target_compile_options(angio_options INTERFACE ${ANGIO_WARNINGS})
option(ANGIO_WERROR "Warnings are errors" OFF)
if(ANGIO_WERROR)
  target_compile_options(angio_options INTERFACE -Werror)
endif()
# Lets ccache keep what uses the precompiled headers; ./dev sets the sloppiness that it wants for that.
target_compile_options(angio_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
# One result on every processor: no multiplication and addition in one step where there is such an instruction.
target_compile_options(angio_options INTERFACE -ffp-contract=off)
# The libraries also go into libangio.so. One flag for all, so that all share the compiled headers.
target_compile_options(angio_options INTERFACE -fPIC)
target_include_directories(angio_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(ANGIO_SANITIZE)
  target_compile_options(angio_options INTERFACE -fsanitize=${ANGIO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(angio_options INTERFACE -fsanitize=${ANGIO_SANITIZE})
  # AddressSanitizer sees what these three see, and they are a third of what the compiler has to write.
  if(ANGIO_SANITIZE MATCHES "address.*undefined")
    target_compile_options(angio_options INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
endif()
# Everywhere, not in the fuzzed libraries alone: the unit tests are sanitized by the same build.
if(ANGIO_FUZZ)
  target_compile_options(angio_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(ANGIO_STATIC_RUNTIME AND NOT ANGIO_SANITIZE AND NOT ANGIO_FUZZ)
  # ANGIO_SHARED_RUNTIME: of a program beside angio that links a shared C++ library.
  target_link_options(angio_options INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:ANGIO_SHARED_RUNTIME>>>:-static-libstdc++$<SEMICOLON>-static-libgcc>)
endif()
