LEVEL_FLAGS_x86_avx2 := -mavx2 -mfma -mf16c -mbmi2
