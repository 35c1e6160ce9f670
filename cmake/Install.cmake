# `cmake --install BUILD`: the program, its manual, its unit, its schemas and completions of shells.
function(weft_install)
  include(GNUInstallDirs)
  install(TARGETS weft RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(FILES "${CMAKE_SOURCE_DIR}/share/weft/job.schema.json"
                "${CMAKE_SOURCE_DIR}/share/weft/openapi.json"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/weft")
  install(FILES "${CMAKE_SOURCE_DIR}/share/man/man1/weft.1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  configure_file("${CMAKE_SOURCE_DIR}/share/systemd/weft.service"
                 "${CMAKE_BINARY_DIR}/share/weft.service" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/share/weft.service" DESTINATION lib/systemd/system)
  # Made by the program itself, so that they know every verb.
  foreach(pair IN ITEMS "bash|bash-completion/completions/weft" "zsh|zsh/site-functions/_weft"
                        "fish|fish/vendor_completions.d/weft.fish")
    string(REPLACE "|" ";" pair "${pair}")
    list(GET pair 0 shell)
    list(GET pair 1 place)
    install(CODE "
      set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${place}\")
      execute_process(COMMAND \"${CMAKE_BINARY_DIR}/weft\" completions ${shell}
                      OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
      message(STATUS \"Installing: \${file}\")
      file(WRITE \"\${file}\" \"\${text}\")")
  endforeach()
endfunction()
