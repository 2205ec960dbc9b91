// The test bench for Vitis HLS, for C simulation and co-simulation: fails if a score differs from the word that
// trigemu's emulation gives.
#include <cmath>
#include <fstream>
#include <iostream>
#include "firmware/$project.h"

int main() {
    std::ifstream inputs("tb_data/inputs.txt"), scores("tb_data/scores.txt");
    double value;
    long long word, events = 0, differences = 0;
    while (scores >> word) {
        input_arr_t x;
        for (int i = 0; i < n_features; i++) {
            inputs >> value;
            x[i] = value;
        }
        score_arr_t score;
        $project(x, score);
        const double found = std::ldexp(score[0].to_double(), $fraction);
        if (found != word && !differences++)
            std::cout << "event " << events << ": " << found << " instead of " << word << std::endl;
        events++;
    }
    std::cout << events << " events, " << differences << " differences" << std::endl;
    return events == 0 || differences != 0;
}
