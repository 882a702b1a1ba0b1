#ifndef STM_LIBRARY_H
#define STM_LIBRARY_H

#include <stddef.h>

/* What MPI library is used and how it was told to move messages. Local; after MPI_Init. */

/** First line of MPI_Get_library_version(). @return @p out */
const char *stm_library_text(char *out, size_t size);

/**
 * The library's transport variables that have a value, as "pml=ob1 btl=self,vader", read
 * through the MPI tools interface (MPI 3.1, chapter 14); "" if it tells nothing. @return @p out
 */
const char *stm_transport_text(char *out, size_t size);

#endif
