LEVEL_FLAGS_arm_dotprod := -march=armv8.2-a+dotprod
