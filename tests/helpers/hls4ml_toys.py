"""A small project in the forms that hls4ml writes, with every kind of layer but a convolution."""

from __future__ import annotations

from pathlib import Path

DEFINES = """\
#ifndef DEFINES_H_
#define DEFINES_H_
#include "ap_fixed.h"
#include "ap_int.h"
#include "nnet_utils/nnet_types.h"

// hls-fpga-machine-learning insert numbers
#define N_INPUT_1_1 3
static const int N_LAYER_2 = 4; /* of the first layer */

// hls-fpga-machine-learning insert layer-precision
typedef ap_fixed<10,6,AP_RND,AP_SAT> input_t;
typedef ap_fixed<16,6> model_default_t;
typedef model_default_t layer2_t;
typedef ap_fixed<9,3> weight2_t;
typedef ap_fixed<8,3> bias2_t;
typedef ap_ufixed<7,4,AP_RND_CONV,AP_SAT> layer3_t;
typedef ap_fixed<12,5,AP_TRN_ZERO,AP_SAT_SYM> sums4_t;
typedef ap_fixed<14,6> layer4_t;
typedef ap_int<4> weight4_t;
typedef ap_uint<1> bias4_t;
typedef ap_fixed<18,8> scale5_t;
typedef ap_fixed<15,7,AP_RND> layer5_t;
typedef ap_fixed<13,6> merged_t;
typedef ap_fixed<18,10,AP_RND_INF,AP_SAT> result_t;
#endif
"""
_DENSE = """\
struct config{n} : nnet::dense_config {{
    static const unsigned n_in = {n_in};
    static const unsigned n_out = {n_out};
    static const unsigned io_type = nnet::io_parallel;
    static const unsigned strategy = nnet::{strategy};
    static const unsigned reuse_factor = 1;
    static const unsigned n_zeros = 0;
    static const unsigned multiplier_limit = DIV_ROUNDUP(n_in * n_out, reuse_factor) - n_zeros / reuse_factor;
    static const bool store_weights_in_bram = false;
    typedef {sums} accum_t;
    typedef bias{n}_t bias_t;
    typedef weight{n}_t weight_t;
    typedef ap_uint<1> index_t;
    template<class data_T, class res_T, class CONFIG_T>
    using kernel = nnet::{kernel}<data_T, res_T, CONFIG_T>;
    template<class x_T, class y_T>
    using product = nnet::product::mult<x_T, y_T>;
}};
"""
_MERGE = """\
struct config{n} : nnet::merge_config {{
    static const unsigned n_elem1 = 2;
    static const unsigned n_elem2 = 2;
    static const unsigned n_elem = 2;
    static const unsigned reuse_factor = 1;
}};
"""
PARAMETERS = (
    """\
#ifndef PARAMETERS_H_
#define PARAMETERS_H_
#include "nnet_utils/nnet_helpers.h"
#include "nnet_utils/nnet_code_gen.h"
#include "nnet_utils/nnet_activation.h"
#include "nnet_utils/nnet_batchnorm.h"
#include "nnet_utils/nnet_dense.h"
#include "nnet_utils/nnet_merge.h"
#include "defines.h"
#include "weights/w2.h"
#include "weights/b2.h"
#include "weights/all.h"
"""
    + _DENSE.format(
        n=2,
        n_in="N_INPUT_1_1",
        n_out="N_LAYER_2",
        strategy="latency",
        sums="model_default_t",
        kernel="DenseLatency",
    )
    + """\
struct relu_config3 : nnet::activ_config {
    static const unsigned n_in = 4;
    static const unsigned table_size = 1024;
    static const unsigned io_type = nnet::io_parallel;
    static const unsigned reuse_factor = 1;
};
"""
    + _DENSE.format(
        n=4, n_in=4, n_out=2, strategy="resource", sums="sums4_t", kernel="DenseResource_rf_leq_nin"
    )
    + """\
struct config5 : nnet::batchnorm_config {
    static const unsigned n_in = 2;
    static const unsigned n_filt = -1;
    static const unsigned n_scale_bias = (n_filt == -1) ? n_in : n_filt;
    static const unsigned io_type = nnet::io_parallel;
    static const unsigned reuse_factor = 1;
    static const unsigned multiplier_limit = DIV_ROUNDUP(n_in, reuse_factor);
    static const bool store_weights_in_bram = false;
    typedef scale5_t bias_t;
    typedef scale5_t scale_t;
    template<class x_T, class y_T>
    using product = nnet::product::mult<x_T, y_T>;
};
"""
    + "".join(_MERGE.format(n=n) for n in range(6, 11))
    + """\
struct config11 : nnet::concat_config {
    static const unsigned n_elem1_0 = 2;
    static const unsigned n_elem2_0 = 2;
};
struct linear_config12 : nnet::activ_config {
    static const unsigned n_in = 4;
    static const unsigned io_type = nnet::io_parallel;
};
struct config13 : nnet::dot_config {
    static const unsigned n_in = 4;
    static const unsigned n_out = 1;
    static const unsigned reuse_factor = 1;
    static const unsigned multiplier_limit = DIV_ROUNDUP(n_in, reuse_factor);
    typedef ap_fixed<20,9,AP_RND_ZERO,AP_SAT> accum_t;
    template<class x_T, class y_T>
    using product = nnet::product::mult<x_T, y_T>;
};
#endif
"""
)
TOP = """\
#include "toy.h"
#include "parameters.h"

void toy(
    input_t input_1[N_INPUT_1_1],
    result_t layer13_out[1]
) {
    #pragma HLS PIPELINE
#ifndef __SYNTHESIS__
    static bool loaded_weights = true;
    if (!loaded_weights) {
        nnet::load_weights_from_txt<weight2_t, 12>(w2, "w2.txt");
        loaded_weights = true;
    }
#endif
    layer2_t layer2_out[N_LAYER_2];
    #pragma HLS ARRAY_PARTITION variable=layer2_out complete dim=0
    nnet::dense<input_t, layer2_t, config2>(input_1, layer2_out, w2, b2); // fc1
    layer3_t layer3_out[N_LAYER_2];
    nnet::relu<layer2_t, layer3_t, relu_config3>(layer2_out, layer3_out);
    auto& flat = layer3_out;
    layer4_t layer4_out[2];
    nnet::dense<layer3_t, layer4_t, config4>(flat, layer4_out, w4, b4);
    layer5_t layer5_out[2];
    nnet::normalize<layer4_t, layer5_t, config5>(layer4_out, layer5_out, s5, b5);
    merged_t layer6_out[2];
    nnet::add<layer4_t, layer5_t, merged_t, config6>(layer4_out, layer5_out, layer6_out);
    merged_t layer7_out[2];
    nnet::subtract<layer6_t, layer5_t, merged_t, config7>(layer6_out, layer5_out, layer7_out);
    merged_t layer8_out[2];
    nnet::multiply<merged_t, layer4_t, merged_t, config8>(layer7_out, layer4_out, layer8_out);
    merged_t layer9_out[2];
    nnet::maximum<merged_t, layer5_t, merged_t, config9>(layer8_out, layer5_out, layer9_out);
    merged_t layer10_out[2];
    nnet::minimum<merged_t, merged_t, merged_t, config10>(layer9_out, layer6_out, layer10_out);
    layer5_t layer11_out[4];
    nnet::concatenate1d<merged_t, layer5_t, layer5_t, config11>(layer10_out, layer5_out, layer11_out);
    merged_t layer12_out[4];
    nnet::linear<layer5_t, merged_t, linear_config12>(layer11_out, layer12_out);
    nnet::dot1d<merged_t, merged_t, result_t, config13>(layer12_out, layer12_out, layer13_out);
}
""".replace("subtract<layer6_t", "subtract<merged_t")
HEADER = """\
#ifndef TOY_H_
#define TOY_H_
#include "defines.h"
void toy(input_t input_1[N_INPUT_1_1], result_t layer13_out[1]);
#endif
"""
FILES = {
    "defines.h": DEFINES,
    "parameters.h": PARAMETERS,
    "toy.cpp": TOP,
    "toy.h": HEADER,
    "weights/w2.h": "//Min -1.5\nweight2_t w2[12] = {0.25, -1.5, 0.046875, 1.0, -0.75, 0.3125, 2.5, -0.125, "
    "0.5, 0.5, -2.0, 1.25};\n",
    "weights/b2.h": "bias2_t b2[4] = {0.0625, -1.0, 0.5, 0.25};\n",
    "weights/all.h": "weight4_t w4[8] = {1, -2, 3, 1, -1, 2, 0, 1};\nbias4_t b4[2] = {0, 1};\n"
    "scale5_t s5[2] = {1.3, -0.7};\nscale5_t b5[2] = {0.01, -0.5};\n",
}


def write_project(folder: Path, **changed: str | None) -> Path:
    """Write the project. changed: other texts by the stem of the file, or None for no such file."""
    for name, text in FILES.items():
        text = changed.get(Path(name).stem if name != "toy.h" else "header", text)
        if text is not None:
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return folder


#: A layer by distributed arithmetic and a sigmoid, behind a wrapper that scales its inputs.
ADDERS = """\
#ifndef NNET_INSTR_GEN_H_
#define NNET_INSTR_GEN_H_
#include "nnet_function_stubs.h"
namespace sums {
using nnet::bit_shift;
// hls4ml insert code
template <typename inp_t, typename out_t>
void dense_da_2(inp_t inp[3], out_t out[2]) {
    #pragma HLS INLINE
    // ==== Latency: 1 ====
    ap_fixed<13, 6> v0 = bit_shift<-2>(inp[0]) - inp[1];
    ap_fixed<14, 7> v1 = -v0 + bit_shift<1>(inp[2]);
    ap_fixed<14, 7> v2 = v1 + ap_ufixed<2, -1>(0.125);
    out[0] = v2;
    out[1] = -inp[2];
}
}
#endif
"""
SUMS = {
    "nnet_utils/nnet_code_gen.h": ADDERS,
    "parameters.h": """\
#include "ap_fixed.h"
#include "nnet_utils/nnet_code_gen.h"
#include "nnet_utils/nnet_activation.h"
#include "nnet_utils/nnet_dense.h"
typedef ap_fixed<10,5> input_t;
typedef ap_fixed<20,20> unscaled_t;
typedef ap_fixed<10,6> layer2_t;
typedef ap_fixed<9,3> weight3_t;
typedef ap_fixed<16,8> layer3_t;
typedef ap_fixed<14,2> table4_t;
typedef ap_fixed<12,4,AP_RND> result_t;
static weight3_t w3[2] = {0.375, -1.5};
static weight3_t b3[1] = {0.25};
struct config3 : nnet::dense_config {
    static const unsigned n_in = 2;
    static const unsigned n_out = 1;
    static const unsigned strategy = nnet::latency;
    static const unsigned reuse_factor = 1;
    static const unsigned multiplier_limit = 2;
    typedef layer3_t accum_t;
    typedef weight3_t bias_t;
    typedef weight3_t weight_t;
    template<class data_T, class res_T, class CONFIG_T>
    using kernel = nnet::DenseLatency<data_T, res_T, CONFIG_T>;
    template<class x_T, class y_T>
    using product = nnet::product::mult<x_T, y_T>;
};
struct sigmoid_config4 : nnet::activ_config {
    static const unsigned n_in = 1;
    static const unsigned table_size = 1024;
    typedef table4_t table_t;
};
""",
    "sums.cpp": """\
#include "parameters.h"
void toy(input_t x[3], result_t layer4_out[1]) {
    layer2_t layer2_out[2];
    sums::dense_da_2<input_t, layer2_t>(x, layer2_out);
    layer3_t layer3_out[1];
    nnet::dense<layer2_t, layer3_t, config3>(layer2_out, layer3_out, w3, b3);
    nnet::sigmoid<layer3_t, result_t, sigmoid_config4>(layer3_out, layer4_out);
}
""",
    "scaling.h": "int norm[3] = {4, 1, 16};\nint bias[3] = {-3, 2, 7};\n",
    "wrapper.cpp": '#include "scaling.h"\n',
}


def write_sums(folder: Path, **changed: str) -> Path:
    """Write the project with sums. changed: other texts by the stem of the file."""
    for name, text in SUMS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(changed.get(Path(name).stem, text))
    return folder
