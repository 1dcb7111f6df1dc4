# What is installed, and the .deb and .tar.gz that cpack makes of it (./dev package).
set(manual ${CMAKE_BINARY_DIR}/manual)
file(GLOB command_pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/angio/*_command.md)
add_custom_command(
  OUTPUT ${manual}/angio.1 ${manual}/angio.bash
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/generate_docs.py
          --manual ${manual} --version ${PROJECT_VERSION}
  DEPENDS ${command_pages} ${CMAKE_SOURCE_DIR}/packaging/angio.md ${CMAKE_SOURCE_DIR}/tools/generate_docs.py
  COMMENT "Writing the manual")
add_custom_target(angio_manual ALL DEPENDS ${manual}/angio.1)

install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${manual}/angio.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME angio)
install(FILES README.md CHANGELOG.md LICENSE packaging/THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME angio)
set(CPACK_PACKAGE_VENDOR "The Angio authors")
set(CPACK_PACKAGE_CONTACT "The Angio authors <angio@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME angio-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
# The tarball unpacks into one folder whose bin/angio runs from anywhere; the package goes below /usr.
set(CPACK_PACKAGING_INSTALL_PREFIX "")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
# Programs for other libraries are in the packages where they were built, and need those libraries only to run themselves.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenmpi3 | libopenmpi3t64, libgloo0, openmpi-bin")
# For cpack_project.cmake.
set(CPACK_ANGIO_OBJECTS
  ${CMAKE_BINARY_DIR}/apps/angio/angio
  ${CMAKE_BINARY_DIR}/bindings/libangio.so.0
  ${CMAKE_BINARY_DIR}/plugins/nccl_tuner/libnccl-tuner-angio.so
  ${CMAKE_BINARY_DIR}/plugins/nccl_profiler/libnccl-profiler-angio.so)
foreach(stand_in IN ITEMS cudart/libangio-phantom-cudart12 cudart/libangio-phantom-cudart13 nvml/libangio-phantom-nvml
                          net/libangio-phantom-net)
  list(APPEND CPACK_ANGIO_OBJECTS ${CMAKE_BINARY_DIR}/phantom/${stand_in}.so)
endforeach()
set(CPACK_ANGIO_READELF ${CMAKE_READELF})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/cpack_project.cmake)
include(CPack)
