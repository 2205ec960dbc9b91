// conifer's HLS sources as a program: reads rows of doubles from standard input, writes words of the scores to
// standard output, as int64; with an argument, writes a word for each tree instead.
#include <cmath>
#include <cstdint>
#include <iostream>
#include "firmware/$project.h"

static void put(score_t value) {
    const int64_t word = std::ldexp(value.to_double(), $fraction);
    std::cout.write(reinterpret_cast<const char *>(&word), sizeof word);
}

int main(int count, char **) {
    double row[n_features];
    while (std::cin.read(reinterpret_cast<char *>(row), sizeof row)) {
        input_arr_t x;
        std::copy(row, row + n_features, x);
        if (count > 1) {
            score_t trees[1][n_trees];
            bdt.tree_scores(x, trees);
            for (const score_t tree : trees[0]) put(tree);
        } else {
            score_arr_t score;
            $project(x, score);
            put(score[0]);
        }
    }
}
