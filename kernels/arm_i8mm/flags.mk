LEVEL_FLAGS_arm_i8mm := -march=armv8.2-a+dotprod+i8mm
