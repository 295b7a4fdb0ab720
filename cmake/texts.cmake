# Texts that C sources include as string literals: src/FOLDER/NAME as "FOLDER/NAME.inc".
foreach(name cli/completion.bash cli/completion.zsh cli/manual_end.man report/page.css
    store/schema.sql)
  set(file ${PROJECT_SOURCE_DIR}/src/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "([\\\"])" "\\\\\\1" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/texts/made "\"${text}\"\n")
  configure_file(${PROJECT_BINARY_DIR}/texts/made ${PROJECT_BINARY_DIR}/texts/${name}.inc COPYONLY)
endforeach()
