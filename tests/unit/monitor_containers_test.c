// SPDX-License-Identifier: MIT
/* The cgroup file system is a tree of ordinary folders: their inode numbers are the cgroups'
 * ids. */
#include "monitor/metrics/containers.h"

#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "tap.h"

#define ID_A	"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
#define ID_B	"b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1"
#define HOUR_NS (3600ull * 1000000000)

static uint64_t inode(const char *name)
{
	struct stat st;

	return stat(in_folder(name), &st) ? 0 : st.st_ino;
}

static struct containers *open_tree(const char *root)
{
	struct containers *c = NULL;

	CHECK(containers_new(in_folder(root), &c) == 0);
	containers_refresh(c, HOUR_NS);
	return c;
}

static const char *id_of(const char *path)
{
	static char id[65];
	const char *found = container_id_of_path(path);

	snprintf(id, sizeof(id), "%s", found ? found : "none");
	return id;
}

static void the_folders_of_every_runtime_give_the_id(void)
{
	CHECK_TEXT(id_of("/docker/" ID_A), ID_A);
	CHECK_TEXT(id_of("/system.slice/docker-" ID_A ".scope"), ID_A);
	CHECK_TEXT(id_of("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
			 "cri-containerd-" ID_A ".scope"),
		ID_A);
	CHECK_TEXT(id_of("/kubepods/besteffort/pod0f7c/" ID_A), ID_A);
	CHECK_TEXT(id_of("/kubepods.slice/kubepods-pod1.slice/crio-" ID_A ".scope"), ID_A);
	CHECK_TEXT(id_of("/machine.slice/libpod-" ID_A ".scope/container"), ID_A);
	CHECK_TEXT(id_of("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A
			 ".scope"),
		ID_A);
	CHECK_TEXT(
		id_of("/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" ID_A),
		ID_A);
}

static void the_innermost_container_counts_and_what_runs_inside_it_is_in_it(void)
{
	CHECK_TEXT(id_of("/docker/" ID_A "/kubelet/kubepods/pod1/" ID_B "/init.scope"), ID_B);
}

static void what_only_looks_like_a_container_is_none(void)
{
	CHECK_TEXT(id_of("/machine.slice/libpod-conmon-" ID_A ".scope"), "none");
	CHECK_TEXT(id_of("/crio-conmon-" ID_A ".scope"), "none");
	CHECK_TEXT(id_of("/system.slice/x0" ID_A ".scope"), "none");
	CHECK_TEXT(id_of("/docker/" ID_A "0"), "none");
	CHECK_TEXT(id_of("/docker/0A" ID_A), "none");
	CHECK_TEXT(id_of("/user.slice/user-1000.slice"), "none");
	CHECK_TEXT(id_of(""), "none");
}

static void a_cgroup_is_named_by_its_container_or_else_by_its_path(void)
{
	struct containers *c;

	CHECK(shell("mkdir -p one/docker-" ID_A ".scope/init one/user.slice/me && "
		    "touch one/cgroup.controllers"));
	c = open_tree("one");
	CHECK_TEXT(containers_name(c, inode("one/docker-" ID_A ".scope/init")), ID_A);
	CHECK_TEXT(containers_name(c, inode("one/user.slice/me")), "/user.slice/me");
	CHECK_TEXT(containers_name(c, inode("one")), "/");
	CHECK_TEXT(containers_name(c, 0), "");
	CHECK(containers_present(c, ID_A));
	CHECK(!containers_present(c, ID_B));
	containers_free(c);
}

static void beside_version_1_the_unified_folder_is_taken_and_without_version_2_nothing(void)
{
	struct containers *c;

	CHECK(shell("mkdir -p two/memory/x two/unified/y && touch two/unified/cgroup.controllers"));
	c = open_tree("two");
	CHECK_TEXT(containers_name(c, inode("two/unified/y")), "/y");
	CHECK_TEXT(containers_name(c, inode("two/memory/x")), "");
	containers_free(c);
	CHECK(shell("mkdir -p old/memory/x"));
	c = open_tree("old");
	CHECK_TEXT(containers_name(c, inode("old/memory/x")), "");
	containers_free(c);
	c = open_tree("missing");
	CHECK_TEXT(containers_name(c, 77), "");
	containers_free(c);
}

static void a_new_cgroup_is_found_when_it_is_asked_for(void)
{
	struct containers *c;

	CHECK(shell("mkdir -p three/first && touch three/cgroup.controllers"));
	c = open_tree("three");
	CHECK_TEXT(containers_name(c, inode("three/first")), "/first");
	CHECK(shell("mkdir three/second"));
	containers_refresh(c, HOUR_NS + 1);
	CHECK_TEXT(containers_name(c, inode("three/second")), "/second");
	containers_free(c);
}

static void a_cgroup_that_is_gone_keeps_its_name_until_nobody_asks_for_an_hour(void)
{
	struct containers *c;
	uint64_t id;

	CHECK(shell("mkdir -p four/short && touch four/cgroup.controllers"));
	id = inode("four/short");
	c = open_tree("four");
	CHECK_TEXT(containers_name(c, id), "/short");
	CHECK(shell("rmdir four/short"));
	containers_refresh(c, 2 * HOUR_NS);
	CHECK(!containers_present(c, "/short"));
	CHECK_TEXT(containers_name(c, id), "/short");
	containers_refresh(c, 3 * HOUR_NS);
	CHECK_TEXT(containers_name(c, id), "/short");
	containers_refresh(c, 4 * HOUR_NS + 1);
	CHECK_TEXT(containers_name(c, id), "");
	containers_free(c);
}

static void links_and_files_are_not_followed(void)
{
	struct containers *c;

	CHECK(shell("mkdir -p five/a elsewhere && touch five/cgroup.controllers five/file && ln -s "
		    "../elsewhere five/link"));
	c = open_tree("five");
	CHECK_TEXT(containers_name(c, inode("elsewhere")), "");
	CHECK_TEXT(containers_name(c, inode("five/file")), "");
	CHECK_TEXT(containers_name(c, inode("five/a")), "/a");
	containers_free(c);
}

static void a_cgroup_that_was_asked_for_too_early_gets_its_name_later(void)
{
	struct containers *c;
	uint64_t id;

	CHECK(shell("mkdir -p early/slice apart/late && touch early/cgroup.controllers"));
	id = inode("apart/late");
	c = open_tree("early");
	CHECK_TEXT(containers_name(c, inode("early/slice")), "/slice");
	CHECK_TEXT(containers_name(c, id), "");
	CHECK(shell("mv apart/late early/slice/late"));
	CHECK_TEXT(containers_name(c, id), "");
	containers_refresh(c, HOUR_NS + 1);
	CHECK_TEXT(containers_name(c, id), "/slice/late");
	CHECK(containers_present(c, "/slice/late"));
	containers_free(c);
}

static void what_is_not_found_twice_is_found_by_a_later_walk(void)
{
	struct containers *c;
	uint64_t id;

	CHECK(shell("mkdir -p much/slice apart/later && touch much/cgroup.controllers"));
	id = inode("apart/later");
	c = open_tree("much");
	CHECK_TEXT(containers_name(c, id), "");
	containers_refresh(c, HOUR_NS + 1);
	CHECK_TEXT(containers_name(c, id), "");
	CHECK(shell("mv apart/later much/later"));
	containers_refresh(c, HOUR_NS + 2);
	CHECK_TEXT(containers_name(c, id), "");
	containers_refresh(c, HOUR_NS + 2 + 60ull * 1000000000);
	CHECK_TEXT(containers_name(c, id), "/later");
	containers_free(c);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(the_folders_of_every_runtime_give_the_id);
	RUN(the_innermost_container_counts_and_what_runs_inside_it_is_in_it);
	RUN(what_only_looks_like_a_container_is_none);
	RUN(a_cgroup_is_named_by_its_container_or_else_by_its_path);
	RUN(beside_version_1_the_unified_folder_is_taken_and_without_version_2_nothing);
	RUN(a_new_cgroup_is_found_when_it_is_asked_for);
	RUN(a_cgroup_that_is_gone_keeps_its_name_until_nobody_asks_for_an_hour);
	RUN(links_and_files_are_not_followed);
	RUN(a_cgroup_that_was_asked_for_too_early_gets_its_name_later);
	RUN(what_is_not_found_twice_is_found_by_a_later_walk);
	shell("rm -rf one two three four five old elsewhere");
	rmdir(folder);
	return tap_end();
}
