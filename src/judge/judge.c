/*
 * The verdict of a file on disk. Alone in its source file, so that tests of the verdict link
 * without HDF5.
 */
#include "src/judge/judging.h"

enum st_status st_judge_file(const struct st_file *file, struct st_verdict **out,
                             struct st_error *err)
{
    return st_judge_with(file, st_file_samples, out, err);
}
