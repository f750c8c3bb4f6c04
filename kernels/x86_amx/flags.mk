LEVEL_FLAGS_x86_amx = $(LEVEL_FLAGS_x86_avx512vnni) -mamx-tile -mamx-int8
