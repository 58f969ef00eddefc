# What an installation holds of the library: the header, the library, and the two ways to find it.
# The program, its pages and the sample model are installed by tools/CMakeLists.txt.
install(TARGETS ocelli EXPORT ocelliTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/runtime/ocelli.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# What a static library's users must find: prefix, modules, whether it was built with it; one a line.
set(OCELLI_STATIC_NEEDS "\"CJSON libcjson ON\"\n    \"OPENBLAS openblas ${OPENBLAS_FOUND}\"")
string(APPEND OCELLI_STATIC_NEEDS "\n    \"UTF8PROC libutf8proc ${UTF8PROC_FOUND}\"")
foreach(name IN LISTS OCELLI_PICTURES)
  if(${name}_FOUND)
    string(REPLACE ";" "," modules "${OCELLI_${name}_MODULES}")
    string(APPEND OCELLI_STATIC_NEEDS "\n    \"${name} ${modules} ON\"")
  endif()
endforeach()

set(OCELLI_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/ocelli)
set(OCELLI_PKGCONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(ocelli_made ${CMAKE_CURRENT_BINARY_DIR}/packaging)

# find_package(ocelli 0.1 CONFIG): the minor version counts before 1.0.
install(EXPORT ocelliTargets NAMESPACE ocelli:: DESTINATION ${OCELLI_CMAKE_FOLDER})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ocelliConfig.cmake.in
  ${ocelli_made}/ocelliConfig.cmake INSTALL_DESTINATION ${OCELLI_CMAKE_FOLDER})
write_basic_package_version_file(${ocelli_made}/ocelliConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${ocelli_made}/ocelliConfig.cmake ${ocelli_made}/ocelliConfigVersion.cmake
  DESTINATION ${OCELLI_CMAKE_FOLDER})

# pkg-config: what a static link needs besides is private, so that a shared link asks for none of it.
# The prefix is found from where the .pc file lies: an installation can be moved whole.
# A shared library brings what it needs itself: then nothing stands there, since pkg-config hands out
# the compiler flags of private packages too.
set(OCELLI_PC_REQUIRES "")
set(OCELLI_PC_LIBS "")
if(NOT BUILD_SHARED_LIBS)
  set(OCELLI_PC_REQUIRES libcjson)
  if(OPENBLAS_FOUND)
    string(APPEND OCELLI_PC_REQUIRES " openblas")
  endif()
  if(UTF8PROC_FOUND)
    string(APPEND OCELLI_PC_REQUIRES " libutf8proc")
  endif()
  # The libraries of pictures by their names alone, and not what they would need if they were static too:
  # behind libheif that is codecs whose own needs Debian does not install with them (x265's libnuma).
  foreach(name IN LISTS OCELLI_PICTURES)
    if(${name}_FOUND)
      string(REPLACE ";" " " flags "${${name}_LDFLAGS}")
      string(APPEND OCELLI_PC_LIBS "${flags} ")
    endif()
  endforeach()
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(OCELLI_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(OCELLI_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(OCELLI_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  cmake_path(SET ocelli_pc NORMALIZE "/prefix/${OCELLI_PKGCONFIG_FOLDER}")
  file(RELATIVE_PATH ocelli_up ${ocelli_pc} "/prefix")
  string(REGEX REPLACE "/$" "" ocelli_up "${ocelli_up}")
  set(OCELLI_PC_PREFIX "\${pcfiledir}/${ocelli_up}")
  set(OCELLI_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(OCELLI_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/ocelli.pc.in ${ocelli_made}/ocelli.pc @ONLY)
install(FILES ${ocelli_made}/ocelli.pc DESTINATION ${OCELLI_PKGCONFIG_FOLDER})

foreach(document LICENSE README.md CHANGELOG.md)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${document})
    install(FILES ${PROJECT_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
