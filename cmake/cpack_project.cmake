# Read by cpack once per generator: the .deb installs below /usr, the tarball into its own folder.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
else()
  set(CPACK_PACKAGING_INSTALL_PREFIX "/")
endif()

# The glibc it needs is the newest symbol version that any of its objects names, those inside the program too.
set(versions)
foreach(object IN LISTS CPACK_ANGIO_OBJECTS)
  execute_process(COMMAND ${CPACK_ANGIO_READELF} -V ${object} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "GLIBC_[0-9.]+" needed "${needed}")
  list(APPEND versions ${needed})
endforeach()
list(REMOVE_DUPLICATES versions)
list(SORT versions COMPARE NATURAL)
list(POP_BACK versions newest)
string(REPLACE "GLIBC_" "" newest ${newest})
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${newest})")
