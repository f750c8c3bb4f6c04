/* SPDX-License-Identifier: MIT
 *
 * cgroup.c: see cgroup.h. /proc/self/cgroup names this process's group in each hierarchy, a line "id:controllers:/a/b";
 * without controllers it is version 2. */
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

int tl_cgroup_line(const tl_cgroup *g, const char *file, char *buf, size_t size) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", g->dir, file);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
    if (!f) return 0;
    char *got = fgets(buf, (int)size, f);
    fclose(f);
    return got != NULL;
}

/* Is word one of a list "cpu,cpuacct"? */
static int has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *s = list; s; s = strchr(s, ',')) {
        s += *s == ',';
        if (strncmp(s, word, n) == 0 && (s[n] == ',' || s[n] == 0)) return 1;
    }
    return 0;
}

/* In a container the name of a group may be that in the host's tree while the mount shows only our own: the walk ends at
 * the mount's root, which is then our group. */
void tl_cgroup_each(const char *root, const char *controller, void (*fn)(void *user, const tl_cgroup *g), void *user) {
    char line[4096], dir[8192];
    snprintf(dir, sizeof dir, "%s/proc/self/cgroup", root);
    FILE *f = fopen(dir, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *name = list ? strchr(list + 1, ':') : NULL;
        if (!name) continue;
        *list++ = *name++ = 0;
        if (*list && !has_word(list, controller)) continue;
        if (!strcmp(name, "/")) *name = 0;
        for (char *slash = name; slash;) {
            tl_cgroup g = {name, dir, !*list};
            snprintf(dir, sizeof dir, "%s/sys/fs/cgroup%s%s%s", root, g.v2 ? "" : "/", g.v2 ? "" : controller, name);
            fn(user, &g);
            if ((slash = strrchr(name, '/'))) *slash = 0;   /* "/a/b" -> "/a" -> "" */
        }
    }
    if (f) fclose(f);
}
