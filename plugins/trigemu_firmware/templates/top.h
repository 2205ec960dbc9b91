#ifndef TOP_H_
#define TOP_H_

#include "BDT.h"
#include "parameters.h"

// The top-level function; the score is score[0].
void $project(input_arr_t x, score_arr_t score);
#endif
