# Graphs: partitions and orders.
st_add_mpi_test(graph SOURCES mpi/test_partition.c LINK st_graph st_mpi st_base m
                RANKS 1 2 3 4 7)
