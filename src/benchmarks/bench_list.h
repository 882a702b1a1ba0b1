/* The one list of benchmarks: CMake reads it as source list, the registry as declarations. */
ST_BENCH(noop)
ST_BENCH(stream)
ST_BENCH(latency)
ST_BENCH(loaded_latency)
ST_BENCH(pairs)
ST_BENCH(spmv)
