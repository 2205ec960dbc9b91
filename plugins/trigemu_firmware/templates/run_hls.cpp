// conifer's HLS sources as a program: reads rows of doubles from standard input, writes words of the scores to
// standard output, as int64.
#include <cmath>
#include <cstdint>
#include <iostream>
#include "firmware/$project.h"

int main() {
    double row[n_features];
    while (std::cin.read(reinterpret_cast<char *>(row), sizeof row)) {
        input_arr_t x;
        std::copy(row, row + n_features, x);
        score_arr_t score;
        $project(x, score);
        const int64_t word = std::ldexp(score[0].to_double(), $fraction);
        std::cout.write(reinterpret_cast<const char *>(&word), sizeof word);
    }
}
