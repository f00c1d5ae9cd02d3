# Read by llama.cpp's CMake project through CMAKE_PROJECT_INCLUDE (`config.toml` beside this file).

# llama-cpp-2 asks for llama.cpp's `common` library in every configuration. ragscope calls nothing in it,
# and it takes half of the time that llama.cpp takes to compile.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)
