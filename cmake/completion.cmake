# Completion for bash and zsh and the manual: the command prints them from its own option tables.
set(printed ${PROJECT_BINARY_DIR}/share)
file(MAKE_DIRECTORY ${printed})
add_custom_command(
  OUTPUT ${printed}/bilevel.bash ${printed}/_bilevel ${printed}/man1/bilevel.1
  COMMAND bilevel_command completion bash > ${printed}/bilevel.bash
  COMMAND bilevel_command completion zsh > ${printed}/_bilevel
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/manual-pages ${printed}/man1
    ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:bilevel_command>
  DEPENDS bilevel_command ${PROJECT_SOURCE_DIR}/scripts/manual-pages
  COMMENT "Printing completion and manual"
  VERBATIM)
add_custom_target(completion ALL
  DEPENDS ${printed}/bilevel.bash ${printed}/_bilevel ${printed}/man1/bilevel.1)
