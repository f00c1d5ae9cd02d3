# Two targets do everything: `make demo` and `make test`.
.PHONY: demo test bench
