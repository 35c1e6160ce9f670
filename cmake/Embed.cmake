# embed_text(<target> <file> <function>)
#
# Gives <target> the function `std::string_view weft::<function>()` that returns the text of <file>,
# so that the program needs no file beside it. Made again whenever the file changes.
function(embed_text target file function)
  set(source "${CMAKE_BINARY_DIR}/embedded/${function}.cc")
  add_custom_command(
    OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" "-DFILE=${file}" "-DFUNCTION=${function}" "-DOUT=${source}"
            -P "${CMAKE_SOURCE_DIR}/cmake/Embed.cmake"
    DEPENDS "${file}" "${CMAKE_SOURCE_DIR}/cmake/Embed.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()

# Run as a script, it writes the source.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${FILE}" text)
  string(FIND "${text}" ")embedded\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${FILE} holds the text )embedded\" that ends an embedded file")
  endif()
  file(WRITE "${OUT}"
    "#include <string_view>\n\nnamespace weft {\n\nstd::string_view ${FUNCTION}();\n"
    "std::string_view ${FUNCTION}() {\n  return R\"embedded(${text})embedded\";\n}\n\n"
    "}  // namespace weft\n")
endif()
