LEVEL_FLAGS_x86_avxvnni := -mavx2 -mfma -mf16c -mbmi2 -mavxvnni
