/* SPDX-License-Identifier: MIT
 *
 * cgroup.h: the groups (cgroups v1 and v2) whose limits hold for this process. All files are read below a root folder
 * ("" for the system's own), so that tests can lay out trees of their own. */
#ifndef TL_CGROUP_H
#define TL_CGROUP_H

#include "base/base.h"

/* A group: its name ("/a/b", "" for the topmost), the folder with its files, and which version's files they are. */
typedef struct tl_cgroup { const char *name, *dir; int v2; } tl_cgroup;
/* Calls fn for each group of this process that a controller ("cpu", "memory") may limit, from its own up to the topmost:
 * the smallest limit on the way holds. */
void tl_cgroup_each(const char *root, const char *controller, void (*fn)(void *user, const tl_cgroup *g), void *user);
/* First line of a group's file; 0 if it cannot be read. */
int tl_cgroup_line(const tl_cgroup *g, const char *file, char *buf, size_t size);

#endif
