# Contracts are compiled by clang 16 for wasm32, whatever compiler the node is compiled with.
find_program(BOR_WASM_CLANG NAMES clang++-16 REQUIRED DOC "C++ compiler for contracts")
find_program(BOR_WASM_LD NAMES wasm-ld-16 REQUIRED DOC "Linker for contracts")
set(BOR_WASM_STDLIB /usr/lib/llvm-16/include/wasm32-wasi/c++/v1
    CACHE PATH "The standard library's headers for wasm32")

set(bor_contracts_dir ${CMAKE_CURRENT_LIST_DIR})
# WebAssembly 1.0 only: the virtual machine knows no later feature.
set(bor_contract_flags
  --target=wasm32-wasi -mcpu=mvp -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics
  -fvisibility=hidden -ffunction-sections -fdata-sections -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Werror
  -I${bor_contracts_dir}/include -isystem ${BOR_WASM_STDLIB})

# bor_contract_object(<source> <object> <optimisation>)   the command that compiles one file.
function(bor_contract_object source object optimisation)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(RELATIVE_PATH shown ${PROJECT_SOURCE_DIR} ${source})
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${BOR_WASM_CLANG} ${bor_contract_flags} ${optimisation}
            -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source} DEPFILE ${object}.d
    COMMENT "Compiling contract source ${shown}" VERBATIM)
endfunction()

# bor_contract(<name> SOURCE <file>... ABI <file> [ROOT <folder>] [OPTIMISE <flag>])
# makes ROOT/<name>/<name>.wasm and .abi (ROOT: <build>/contracts), and adds them to the property
# BOR_CONTRACT_FILES of the folder.
function(bor_contract name)
  cmake_parse_arguments(ARG "" "ABI;ROOT;OPTIMISE" "SOURCE" ${ARGN})
  if(NOT ARG_ROOT)
    set(ARG_ROOT ${PROJECT_BINARY_DIR}/contracts)
  endif()
  if(NOT ARG_OPTIMISE)
    set(ARG_OPTIMISE -O2)
  endif()
  set(runtime ${PROJECT_BINARY_DIR}/contracts/objects/runtime/runtime.o)
  set(out ${ARG_ROOT}/${name}/${name})
  file(MAKE_DIRECTORY ${ARG_ROOT}/${name})
  set(objects)
  foreach(source ${ARG_SOURCE})
    get_filename_component(stem ${source} NAME_WE)
    set(object ${PROJECT_BINARY_DIR}/contracts/objects/${name}/${stem}.o)
    bor_contract_object(${source} ${object} ${ARG_OPTIMISE})
    list(APPEND objects ${object})
  endforeach()
  # The stack is first in memory and grows down, so that an overflow leaves the memory and traps.
  add_custom_command(OUTPUT ${out}.wasm
    COMMAND ${BOR_WASM_LD} --no-entry --export=apply --stack-first -z stack-size=8192
            --strip-all --gc-sections --allow-undefined-file=${bor_contracts_dir}/builtins.txt
            ${objects} ${runtime} -o ${out}.wasm
    DEPENDS ${objects} ${runtime} ${bor_contracts_dir}/builtins.txt
    COMMENT "Linking contract ${name}" VERBATIM)
  set(files ${out}.wasm)
  if(ARG_ABI)
    add_custom_command(OUTPUT ${out}.abi
      COMMAND ${CMAKE_COMMAND} -E copy ${ARG_ABI} ${out}.abi DEPENDS ${ARG_ABI} VERBATIM)
    list(APPEND files ${out}.abi)
  endif()
  set_property(DIRECTORY APPEND PROPERTY BOR_CONTRACT_FILES ${files})
endfunction()
