# The static library: one object in which hidden symbols are local, so that a program that links it
# sees the names that the shared library exports and no others.
get_property(isa_objects GLOBAL PROPERTY blv_isa_objects)
set(objects $<TARGET_OBJECTS:base_objects> $<TARGET_OBJECTS:bilevel_objects> ${isa_objects})
set(joined ${PROJECT_BINARY_DIR}/bilevel_joined.o)
add_custom_command(OUTPUT ${joined}
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${joined} ${objects}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${joined}
  DEPENDS bilevel ${objects} COMMAND_EXPAND_LISTS VERBATIM)

add_library(bilevel_static STATIC ${joined})
set_target_properties(bilevel_static PROPERTIES
  LINKER_LANGUAGE C OUTPUT_NAME bilevel ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/src)
target_include_directories(bilevel_static INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(bilevel_static INTERFACE ZLIB::ZLIB zstd Threads::Threads m)
add_library(bilevel::bilevel_static ALIAS bilevel_static)
