LEVEL_FLAGS_arm_neon := 
