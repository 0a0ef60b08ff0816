#pragma once

#include <wabt/feature.h>

namespace wabt_features {

// Everything beyond the MVP off.
inline wabt::Features mvp() {
    wabt::Features features;
    features.disable_sat_float_to_int();
    features.disable_sign_extension();
    features.disable_simd();
    features.disable_multi_value();
    features.disable_reference_types();
    features.disable_bulk_memory();
    return features;
}

}  // namespace wabt_features
