// conifer's C++ model as a program: reads rows of doubles from standard input, writes words of the scores to
// standard output, as int64; with an argument after the model, writes a word for each tree instead.
#include "ap_fixed.h"
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <numeric>
#include "conifer.h"

struct Types : conifer::ConiferConfiguration {
    typedef $input threshold_t;
    typedef $weight weight_t;
    typedef $score score_t;
    static constexpr bool useAddTree = false;
};

static void put(Types::score_t value) {
    const int64_t word = std::ldexp(value.to_double(), $fraction);
    std::cout.write(reinterpret_cast<const char *>(&word), sizeof word);
}

int main(int count, char **arguments) {
    conifer::BDT<Types> bdt(arguments[1]);
    std::vector<conifer::DecisionTree<Types>> trees;
    if (count > 2) {
        const auto document = nlohmann::json::parse(std::ifstream(arguments[1]));
        for (const auto &tree : document["trees"]) {
            trees.push_back(tree[0].get<conifer::DecisionTree<Types>>());
            trees.back().init_(conifer::createSplit<Types::threshold_t>(document["splitting_convention"]));
        }
    }
    std::vector<double> row($features);
    while (std::cin.read(reinterpret_cast<char *>(row.data()), row.size() * sizeof(double))) {
        const std::vector<Types::threshold_t> x(row.begin(), row.end());
        if (count > 2)
            for (const auto &tree : trees) put(tree.decision_function(x));
        else
            put(bdt.decision_function(x)[0]);
    }
}
