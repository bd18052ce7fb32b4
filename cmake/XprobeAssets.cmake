# gen/html_assets.c: style, script and content policy of the html report, out of src/output/html/. Scripts are joined in this order.
function(xp_html_assets OUT)
	set(FOLDER ${CMAKE_SOURCE_DIR}/src/output/html)
	set(STYLE ${FOLDER}/report.css)
	set(SCRIPTS ${FOLDER}/base.js ${FOLDER}/flame.js ${FOLDER}/parts.js ${FOLDER}/triage.js ${FOLDER}/graph.js ${FOLDER}/page.js)
	set(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/html_assets.cmake)
	set(FILE ${CMAKE_BINARY_DIR}/gen/html_assets.c)
	file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/gen)
	add_custom_command(OUTPUT ${FILE} COMMAND ${CMAKE_COMMAND} "-DSTYLE=${STYLE}" "-DSCRIPTS=${SCRIPTS}" -DOUT=${FILE} -P ${SCRIPT}
		DEPENDS ${SCRIPT} ${STYLE} ${SCRIPTS} VERBATIM)
	set(${OUT} ${FILE} PARENT_SCOPE)
endfunction()
