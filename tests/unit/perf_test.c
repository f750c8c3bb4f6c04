/* SPDX-License-Identifier: MIT
 *
 * Measuring: roofline, samples, judgement of disturbance, counters and the system from laid-out trees, lookup
 * of limits, and the loops of every level. No test depends on how fast or how busy this machine is. */
#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "perf/internal.h"
#include "test.h"

static int near(double a, double b) { return fabs(a - b) <= 1e-9 * (1 + fabs(b)); }

/* ---- trees of files --------------------------------------------------------------------------------------------- */

static char root[64];

static void new_root(void) {
    snprintf(root, sizeof root, "/tmp/tl_perf_XXXXXX");
    if (!mkdtemp(root)) exit(3);
}
static void remove_root(void) {
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", root);
    if (system(cmd)) printf("  cannot remove %s\n", root);
}
static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); s++) {
        *s = 0;
        mkdir(path, 0700);
        *s = '/';
    }
    FILE *f = fopen(path, "w");
    if (!f) exit(3);
    fputs(text, f);
    fclose(f);
}

/* ---- roofline --------------------------------------------------------------------------------------------------- */

static void roofline(void) {
    double bw = 30e9, peak = 600e9;   /* ridge 20 MAC/byte */
    tl_roofline r = tl_regime(3e9, 6e9, 0.125, bw, peak);   /* 24 of 30 GB/s; 48 of 600 GMAC/s */
    CHECK(near(r.gb_s, 24) && near(r.gmac_s, 48) && near(r.memory_share, 0.8) && near(r.compute_share, 0.08));
    CHECK(near(r.intensity, 2) && near(r.ridge, 20));
    CHECK(r.regime == TL_REGIME_MEMORY && !strcmp(r.name, "memory-bound") && r.hint && *r.hint);
    r = tl_regime(1e9, 300e9, 1, bw, peak);                 /* half of the peak, little memory */
    CHECK(r.regime == TL_REGIME_COMPUTE && near(r.compute_share, 0.5) && !strcmp(r.name, "compute-bound"));
    r = tl_regime(1e9, 100e9, 1, bw, peak);                 /* a sixth of the peak */
    CHECK(r.regime == TL_REGIME_OVERHEAD && !strcmp(r.name, "overhead-bound"));
    r = tl_regime(15e9, 30e9, 1, bw, peak);                 /* half of the bandwidth is too little */
    CHECK(r.regime == TL_REGIME_OVERHEAD);
    CHECK(tl_regime(18e9, 30e9, 1, bw, peak).regime == TL_REGIME_MEMORY);       /* 0.60: at the threshold */
    CHECK(tl_regime(1, 240e9, 1, bw, peak).regime == TL_REGIME_COMPUTE);        /* 0.40 */
    CHECK(tl_regime(1, 239e9, 1, bw, peak).regime == TL_REGIME_OVERHEAD);
    CHECK(tl_regime(24e9, 540e9, 1, bw, peak).regime == TL_REGIME_COMPUTE);     /* both: the one that takes longer */
    CHECK(tl_regime(27e9, 480e9, 1, bw, peak).regime == TL_REGIME_MEMORY);
    CHECK(tl_regime(15e9, 270e9, 1, bw, peak).regime == TL_REGIME_OVERHEAD);    /* memory 0.5, arithmetic 0.45 */
    r = tl_regime(90e9, 1, 1, bw, peak);                    /* from a cache */
    CHECK(r.regime == TL_REGIME_MEMORY && near(r.memory_share, 3));
    r = tl_regime(24e9, 48e9, 1, bw, 0);                    /* one limit unknown */
    CHECK(r.regime == TL_REGIME_MEMORY && r.compute_share == 0 && r.ridge == 0);
    CHECK(tl_regime(1e9, 1e9, 1, 0, 0).regime == TL_REGIME_UNKNOWN);
    r = tl_regime(1e9, 1e9, 0, bw, peak);
    CHECK(r.regime == TL_REGIME_UNKNOWN && r.gb_s == 0 && !strcmp(r.name, "unknown"));
    CHECK(tl_regime(0, 1e9, 1, bw, peak).intensity == 0);
    CHECK(tl_regime(1e9, 0, 1, bw, peak).regime == TL_REGIME_VECTOR);           /* nothing is multiplied */
    CHECK(tl_regime(29e9, 0, 1, bw, peak).regime == TL_REGIME_MEMORY);
    CHECK(near(tl_peak_mixed(10, 0, 600, 100), 600) && near(tl_peak_mixed(10, 10, 600, 100), 100));
    CHECK(near(tl_peak_mixed(12, 6, 600, 100), 12 / (0.01 + 0.06)));            /* one after the other */
    CHECK(tl_peak_mixed(10, 10, 0, 100) == 100 && tl_peak_mixed(10, 5, 0, 100) == 0 && tl_peak_mixed(0, 0, 600, 100) == 0);
}

/* A library knows nothing of a program's options. */
static void hints_name_no_options(void) {
    const double bytes[] = {30e9, 1, 1, 1}, macs[] = {1, 600e9, 1, 0};
    for (int i = 0; i < 5; i++) {
        tl_roofline r = i < 4 ? tl_regime(bytes[i], macs[i], 1, 30e9, 600e9) : tl_regime(1, 1, 1, 0, 0);
        CHECKF(!strstr(r.hint, "--") && !strstr(r.hint, "tinyllm") && !strstr(r.hint, "amx"), "%s", r.hint);
    }
}

/* ---- samples and disturbance ------------------------------------------------------------------------------------ */

static void samples(void) {
    tl_samples s = {.want = 3, .tries = 5};
    CHECK(isnan(tl_samples_stat(&s).median) && !tl_samples_stat(&s).disturbed);
    const double v[] = {4, 100, 2, 3};
    int used = 0;
    for (; tl_samples_more(&s); used++) tl_samples_add(&s, v[used], used == 1 ? TL_DISTURB_STEAL : 0);
    tl_stat r = tl_samples_stat(&s);
    CHECK(used == 4 && r.n == 3 && r.discarded == 1 && !r.disturbed && r.reasons == TL_DISTURB_STEAL);
    CHECK(r.median == 3 && r.min == 2 && r.max == 4 && near(r.spread, 1.0 / 3));
    CHECK(tl_stat_rate(&r) == 3 && tl_stat_time(&r) == 3);

    s = (tl_samples){.want = 3, .tries = 5};   /* bounded; none quiet: all count */
    for (used = 0; tl_samples_more(&s); used++) tl_samples_add(&s, used, TL_DISTURB_OTHERS);
    r = tl_samples_stat(&s);
    CHECK(used == 5 && r.n == 5 && r.disturbed && r.discarded == 0 && r.median == 2);
    CHECK(tl_stat_rate(&r) == 4 && tl_stat_time(&r) == 0);
    char note[64];
    CHECK(!strcmp(tl_stat_note(&r, note, sizeof note), "disturbed: other load"));
    CHECK(!strcmp(tl_stat_mark(&r), "*") && !strcmp(tl_stat_mark(&(tl_stat){.spread = 0.11}), "~"));
    CHECK(!*tl_stat_mark(&(tl_stat){.spread = 0.1}) && !*tl_stat_mark(&(tl_stat){.spread = NAN}));

    s = (tl_samples){.want = 3, .tries = 5};   /* one quiet of five: it alone counts */
    for (used = 0; tl_samples_more(&s); used++) tl_samples_add(&s, used, used == 2 ? 0 : TL_DISTURB_OTHERS);
    r = tl_samples_stat(&s);
    CHECK(used == 5 && r.n == 1 && r.median == 2 && r.discarded == 4 && !r.disturbed);

    s = (tl_samples){.want = 1 << 20, .tries = 1 << 20};
    for (used = 0; tl_samples_more(&s); used++) tl_samples_add(&s, used, 0);
    CHECK(used == TL_MAX_SAMPLES && near(tl_samples_stat(&s).median, (TL_MAX_SAMPLES - 1) / 2.0));

    double two[] = {3, 1};
    CHECK(tl_perf_quantile(two, 2, 0.5) == 2 && tl_perf_quantile(two, 2, 0) == 1 && tl_perf_quantile(two, 2, 1) == 3);
}

/* A sample of 1 s with 2 threads on 4 CPUs, all of it as it should be; the cases change one number. */
static unsigned judge(double cpu, double busy, double steal, int64_t switches, int threads) {
    tl_disturb a = {.wall = 5, .cpu = 1, .busy = 7, .steal = 3, .switches = 11};
    tl_disturb b = {.wall = 6, .cpu = 1 + cpu, .busy = 7 + busy, .steal = 3 + steal, .switches = 11 + switches};
    return tl_perf_judge(&a, &b, threads, 4);
}

static void disturbance(void) {
    CHECK(judge(2, 2, 0, 0, 2) == 0);
    CHECK(judge(2, 2, 0.03, 20, 2) == 0);                         /* below every threshold */
    CHECK(judge(2, 2, 0.05, 0, 2) == TL_DISTURB_STEAL);
    CHECK(judge(2, 2, 0, 21, 2) == TL_DISTURB_SWITCHED);
    CHECK(judge(1.7, 1.7, 0, 0, 2) == TL_DISTURB_WAITED);
    CHECK(judge(1.7, 1.7, 0, 0, 0) == 0);                         /* work that sleeps */
    CHECK(judge(2, 2.3, 0, 0, 2) == TL_DISTURB_OTHERS);
    CHECK(judge(1, 3, 1, 100, 2) == 15);
    tl_disturb a = {.busy = -1, .steal = -1}, b = {.wall = 0.01, .cpu = 0.01, .busy = 9, .steal = 9};
    CHECK(tl_perf_judge(&a, &b, 1, 4) == 0);                      /* /proc/stat could not be read */
    a = (tl_disturb){0};
    b = (tl_disturb){.wall = 0.01, .cpu = 0.01, .busy = 0.02};
    CHECK(tl_perf_judge(&a, &b, 1, 1) == 0);                      /* one tick too many is rounding */
    b.switches = 1;
    CHECK(tl_perf_judge(&a, &b, 1, 1) == TL_DISTURB_SWITCHED);    /* but one switch in 10 ms is not */

    char buf[64];
    CHECK(!strcmp(tl_disturb_text(0, buf, sizeof buf), ""));
    CHECK(!strcmp(tl_disturb_text(TL_DISTURB_STEAL | TL_DISTURB_OTHERS, buf, sizeof buf), "steal, other load"));
    CHECK(strlen(tl_disturb_text(15, buf, 8)) < 8);

    tl_disturb d;
    tl_disturb_begin(&d);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    CHECK(tl_disturb_end(&d, 1) & TL_DISTURB_WAITED);
    CHECK(!(tl_disturb_end(&d, 0) & TL_DISTURB_WAITED));
}

static void stat_line(void) {
    double busy, steal;
    CHECK(tl_perf_parse_stat("cpu  100 20 30 4000 50 6 7 8 90 10", 100, &busy, &steal));
    CHECK(near(busy, 1.63) && near(steal, 0.08));
    CHECK(tl_perf_parse_stat("cpu 100 20 30 4000", 100, &busy, &steal) && near(busy, 1.5) && steal == 0);
    CHECK(!tl_perf_parse_stat("cpu 1 2", 100, &busy, &steal));
    CHECK(!tl_perf_parse_stat("intr 1 2 3 4 5", 100, &busy, &steal));
    CHECK(!tl_perf_parse_stat("", 100, &busy, &steal) && !tl_perf_parse_stat("cpu 1 2 3 4", 0, &busy, &steal));
}

/* ---- counters --------------------------------------------------------------------------------------------------- */

#define RAPL "sys/class/powercap/intel-rapl:"

static void energy(void) {
    tl_counters c;
    new_root();
    put(RAPL "0/name", "package-0\n");
    put(RAPL "0/energy_uj", "1000000\n");
    put(RAPL "0/max_energy_range_uj", "262143328850\n");
    put(RAPL "1/name", "package-1\n");
    put(RAPL "1/energy_uj", "262143000000\n");
    put(RAPL "1/max_energy_range_uj", "262143328850\n");
    put(RAPL "2/name", "psys\n");   /* the whole system: would count the packages twice */
    put(RAPL "2/energy_uj", "5\n");
    put(RAPL "2/max_energy_range_uj", "10\n");
    tl_counters_open(&c, root);
    CHECK(c.n_packages == 2 && !*c.why_no_joules && strstr(c.why_no_counts, "unavailable: "));
    tl_counters_begin(&c);
    put(RAPL "0/energy_uj", "3500000\n");
    put(RAPL "1/energy_uj", "671150\n");   /* began again: 328850 to the limit, 671150 from 0 */
    tl_counts r = tl_counters_end(&c);
    CHECKF(near(r.joules, 3.5), "%.9f joules", r.joules);
    CHECK(r.count[TL_COUNT_CYCLES] < 0);
    tl_counters_begin(&c);
    put(RAPL "1/energy_uj", "nonsense\n");
    CHECK(tl_counters_end(&c).joules < 0);
    tl_counters_close(&c);
    remove_root();

    new_root();
    tl_counters_open(&c, root);
    CHECK(c.n_packages == 0);
    CHECK(!strncmp(c.why_no_joules, "unavailable: ", 13) && strstr(c.why_no_joules, strerror(ENOENT)));
    tl_counters_begin(&c);
    CHECK(tl_counters_end(&c).joules < 0);
    tl_counters_close(&c);
    put(RAPL "0/name", "package-0\n");
    put(RAPL "0/energy_uj", "");
    put(RAPL "0/max_energy_range_uj", "100\n");
    tl_counters_open(&c, root);
    CHECK(c.n_packages == 0 && strstr(c.why_no_joules, "unavailable: "));
    remove_root();
}

static volatile double sink;

static void counters(void) {
    tl_counters c;
    tl_counters_open(&c, "/");
    for (int i = 0; i < TL_N_COUNTS; i++)
        CHECK(c.fd[i] >= 0 || strstr(c.why_no_counts, "unavailable: perf_event_open: "));
    tl_counters_begin(&c);
    for (int i = 0; i < 1000000; i++) sink = i;
    tl_counts r = tl_counters_end(&c);
    double instructions = r.count[TL_COUNT_INSTRUCTIONS];
    CHECK(instructions < 0 || (c.fd[TL_COUNT_INSTRUCTIONS] >= 0 && instructions > 1000000));
    CHECK(c.n_packages ? r.joules >= 0 : r.joules < 0 && *c.why_no_joules);
    tl_counters_close(&c);
    tl_counters_close(&c);
    CHECK(c.fd[0] < 0);
}

/* ---- the system ------------------------------------------------------------------------------------------------- */

#define CACHE "sys/devices/system/cpu/cpu0/cache/index"

static void put_cache(int index, const char *level, const char *type, const char *size) {
    char name[128];
    snprintf(name, sizeof name, CACHE "%d/level", index);
    put(name, level);
    snprintf(name, sizeof name, CACHE "%d/type", index);
    put(name, type);
    snprintf(name, sizeof name, CACHE "%d/size", index);
    put(name, size);
}

/* What is left: the least of the system's and of every group's on the way up; a group's file cache makes room. */
static void memory_limits(void) {
    tl_system s;
    new_root();
    put("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable: 3000 kB\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/b/memory.current", "900\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 3000 * 1024);
    put("sys/fs/cgroup/a/memory.max", "2048000\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 3000 * 1024);   /* how much of it is used is not known */
    put("sys/fs/cgroup/a/memory.current", "1024000\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 1024000);
    put("sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_anon 9\nactive_file 100\nfile 5000\ninactive_file 24\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 1024124);
    put("sys/fs/cgroup/a/memory.current", "9000000\n");   /* above a limit that was lowered */
    tl_system_read(root, &s);
    CHECK(s.mem_available == 1);
    remove_root();

    new_root();
    put("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable: 3000 kB\n");
    put("proc/self/cgroup", "5:memory:/docker/1\n4:cpu,cpuacct:/\n0::/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 3000 * 1024);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
    put("sys/fs/cgroup/memory/memory.stat", "active_file 1\ntotal_active_file 300\ntotal_inactive_file 4000\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 1000000 - 4096 + 4300);
    char limits[200];   /* of the process: ulimit -v */
    const long page = sysconf(_SC_PAGESIZE);
    snprintf(limits, sizeof limits, "Limit  Soft Limit  Hard Limit  Units\nMax address space  %ld  unlimited  bytes\n", 50 * page);
    put("proc/self/limits", limits);
    tl_system_read(root, &s);
    CHECK(s.mem_available == 1000000 - 4096 + 4300);   /* how much of it is used is not known */
    put("proc/self/statm", "40 7 7 7 0 7 0\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 10 * page);
    put("proc/self/limits", "Max address space         unlimited            unlimited            bytes\n");
    tl_system_read(root, &s);
    CHECK(s.mem_available == 1000000 - 4096 + 4300);
    remove_root();
}

static void system_files(void) {
    tl_system s;
    new_root();
    put_cache(0, "1\n", "Data\n", "48K\n");
    put_cache(1, "1\n", "Instruction\n", "32K\n");
    put_cache(2, "2\n", "Unified\n", "2048K\n");
    put_cache(3, "3\n", "Unified\n", "105M\n");
    put("proc/meminfo", "MemTotal:       24684212 kB\nMemFree:          123 kB\nMemAvailable:   20000000 kB\n");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    tl_system_read(root, &s);
    CHECK(s.l1d == 48 << 10 && s.l2 == 2 << 20 && s.llc == 105 << 20);
    CHECK(s.mem_total == 24684212ll * 1024 && s.mem_available == 20000000ll * 1024);
    CHECK(!strcmp(s.huge_pages, "madvise"));
    put_cache(3, "3\n", "Unified\n", "12 apples\n");   /* unknown: the next lower is the last */
    put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    tl_system_read(root, &s);
    CHECK(s.llc == 2 << 20 && !strcmp(s.huge_pages, "always"));
    put("sys/kernel/mm/transparent_hugepage/enabled", "]broken[\n");
    tl_system_read(root, &s);
    CHECK(!strcmp(s.huge_pages, "unknown"));
    remove_root();
    new_root();
    tl_system_read(root, &s);
    CHECK(s.l2 == 0 && s.llc == 0 && s.mem_total == 0 && s.count.threads == 1 && !strcmp(s.huge_pages, "unknown"));
    remove_root();
}

/* ---- limits ----------------------------------------------------------------------------------------------------- */

static tl_stat exactly(double v) { return (tl_stat){.median = v, .min = v, .max = v, .n = 1}; }

static void lookup(void) {
    static tl_machine m;
    memset(&m, 0, sizeof m);
    m.core_ratio = 2;
    CHECK(tl_machine_bandwidth(&m, 1, 1000) == 0 && tl_machine_peak(&m, NULL, TL_PEAK_INT8, 1) == 0);
    m.read[m.n_reads++] = (tl_read_rate){TL_READ_DRAM, 1, 400000000, exactly(10)};
    m.read[m.n_reads++] = (tl_read_rate){TL_READ_L2, 1, 1000000, exactly(90)};
    m.read[m.n_reads++] = (tl_read_rate){TL_READ_SIZE, 2, 96000000, exactly(40)};
    m.read[m.n_reads++] = (tl_read_rate){TL_READ_DRAM, 2, 400000000, exactly(20)};
    CHECK(near(tl_machine_bandwidth(&m, 1, 96000000), 10e9));
    m.read[m.n_reads++] = (tl_read_rate){TL_READ_SIZE, 2, 48000000, exactly(60)};
    CHECK(near(tl_machine_bandwidth(&m, 2, 48000000), 60e9));   /* before or after DRAM in the list */
    CHECK(near(tl_machine_bandwidth(&m, 2, 96500000), 40e9));   /* measured at that size */
    CHECK(near(tl_machine_bandwidth(&m, 2, 200000000), 20e9));
    CHECK(near(tl_machine_bandwidth(&m, 8, 1000000), 20e9));    /* the next lower number of threads */
    m.read[0].gb_s = (tl_stat){.median = 5, .min = 1, .max = 9, .n = 3, .disturbed = 1};
    CHECK(near(tl_machine_bandwidth(&m, 1, 0), 9e9));

    tl_kernels k;
    tl_kernels_init(&k, 0);
    m.peak[m.n_peaks++] = (tl_peak_rate){TL_PEAK_INT8, 1, "scalar", k.peak[TL_PEAK_INT8].name, exactly(3), 2};
    m.peak[m.n_peaks++] = (tl_peak_rate){TL_PEAK_INT8, 2, "scalar", k.peak[TL_PEAK_INT8].name, exactly(6), 2};
    CHECK(near(tl_machine_peak(&m, NULL, TL_PEAK_INT8, 1), 3e9));
    CHECK(near(tl_machine_peak(&m, "scalar", TL_PEAK_INT8, 5), 6e9));
    CHECK(tl_machine_peak(&m, "scalar", TL_PEAK_F32, 1) == 0 && tl_machine_peak(&m, "nope", TL_PEAK_INT8, 1) == 0);

    tl_buf text = {0}, csv = {0}, json = {0};
    tl_json j = {.out = &json};
    tl_machine_text(&m, (tl_page){.width = 80}, &text);
    tl_machine_csv(&m, &csv);
    tl_machine_json(&m, &j, NULL);
    CHECK(!text.failed && strstr(text.p, "\ndram ") && strstr(text.p, "two cores") && strstr(text.p, "disturbed"));
    CHECK(strstr(csv.p, "\nread_size,,2,96000000,40,40,GB/s,1,0\n"));
    CHECK(strstr(csv.p, "\npeak_int8,scalar,2,,6,6,GMAC/s,1,0\n"));
    CHECK(strstr(json.p, "\"where\": \"size\", \"threads\": 2, \"bytes\": 96000000,"));
    CHECK(strstr(json.p, "\"mac_per_cycle\": 1.5,"));
    tl_buf_free(&text);
    m.core_disturbed = 1;
    tl_machine_text(&m, (tl_page){.width = 80}, &text);
    CHECK(strstr(text.p, "unclear (together 2.00 times one; disturbed)"));
    tl_buf_free(&text);
    tl_buf_free(&csv);
    tl_buf_free(&json);
}

/* Every level's loops: they do what they say, and reading neither leaves out a byte nor goes beyond the last. */
static void loops(void) {
    const size_t size = 8 * 4096 + 3 * 1024, room = 64 << 10;   /* ends where nothing may be read */
    char *area = mmap(NULL, 2 * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *mem = area + room - size;
    if (area == MAP_FAILED || mprotect(area + room, room, PROT_NONE)) exit(3);
    for (int level = 0; tl_levels[level].name; level++) {
        tl_kernels k;
        if (tl_levels[level].needs & ~tl_cpu_features()) continue;
        tl_kernels_init(&k, level);
        for (int kind = 0; kind < TL_N_PEAKS; kind++) {
            const tl_peak *p = &k.peak[kind];
            if (kind != TL_PEAK_BF16) CHECKF(p->run, "%s has no %s loop", k.level, tl_peak_name(kind));
            if (!p->run) continue;
            int64_t one = p->run(1);
            CHECKF(one > 0 && p->run(7) == 7 * one && p->run(0) == 0, "%s: %lld per loop", p->name, (long long)one);
            CHECK(!strncmp(p->name, "tl_peak_", 8));
        }
        CHECK(k.cycles(10) == 10 * k.cycles(1) && k.cycles(1) > 0);
        memset(mem, 0, size);
        CHECKF(k.read_sum(mem, size) == 0 && k.read_sum(mem + size, 0) == 0, "%s", k.level);
        for (size_t i = 0; i < size; i += 7) {   /* 7: every place in a word, every word */
            mem[i] = 1;
            CHECKF(k.read_sum(mem, size) != 0, "%s does not read byte %d", k.level, (int)i);
            mem[i] = 0;
        }
    }
    munmap(area, 2 * room);
}

int main(void) {
    RUN(roofline);
    RUN(hints_name_no_options);
    RUN(samples);
    RUN(disturbance);
    RUN(stat_line);
    RUN(energy);
    RUN(counters);
    RUN(system_files);
    RUN(memory_limits);
    RUN(lookup);
    RUN(loops);
    return tl_test_end();
}
