# gcc's scheduling before register allocation hoists the scales of 8 tokens and spills accumulators for them; clang has
# no such pass and warns about the flag.
LEVEL_FLAGS_arm_dotprod := -march=armv8.2-a+dotprod $(if $(findstring clang,$(shell $(CC) --version)),,-fno-schedule-insns)
