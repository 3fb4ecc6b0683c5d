/* The file and its struct: names it exports, sizes, what is missing. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/loader/plugin.h"
#include "plugins-sdk/conformance/conformance.h"
#include "util/check.h"
#include "util/err.h"

/* --- exported names --- */

struct file {
	const uint8_t *at;
	size_t bytes;
};

static const void *shape_part(const struct file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset ? f->at + offset : NULL;
}

static bool is_ours(const char *name)
{
	/* What linkers and sanitizers add is not the author's. */
	static const char *const fine[] = { "runner_entry", "_init", "_fini", "_edata", "_end" };

	if (strncmp(name, "__", 2) == 0)
		return true;
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
		if (strcmp(name, fine[i]) == 0)
			return true;
	return false;
}

/* `names` ends in a NUL, or is not looked at. */
static void look_at_symbols(struct check *c, const Elf64_Sym *s, uint64_t n, const char *names,
                            uint64_t n_names)
{
	if (!n_names || names[n_names - 1])
		return;
	for (uint64_t i = 0; i < n; i++) {
		unsigned bind = ELF64_ST_BIND(s[i].st_info);
		bool is_out = s[i].st_shndx != SHN_UNDEF && bind != STB_LOCAL &&
		              ELF64_ST_VISIBILITY(s[i].st_other) == STV_DEFAULT;

		if (is_out && s[i].st_name < n_names && !is_ours(names + s[i].st_name))
			broke(c, P_exports,
			      "it exports %.80s too: -fvisibility=hidden, or a "
			      "version script",
			      names + s[i].st_name);
	}
}

static void look_at_sections(struct check *c, const struct file *f)
{
	const Elf64_Ehdr *e = shape_part(f, 0, sizeof *e);
	const Elf64_Shdr *all, *names;

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	all = shape_part(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof *all);
	for (uint16_t i = 0; all && i < e->e_shnum; i++) {
		if (all[i].sh_type != SHT_DYNSYM || all[i].sh_link >= e->e_shnum)
			continue;
		names = &all[all[i].sh_link];
		const void *symbols = shape_part(f, all[i].sh_offset, all[i].sh_size);
		const char *text = shape_part(f, names->sh_offset, names->sh_size);

		if (!symbols || !text)
			continue;
		seen(c, P_exports);
		look_at_symbols(c, symbols, all[i].sh_size / sizeof(Elf64_Sym), text,
		                names->sh_size);
	}
}

void shape_exports(struct check *c)
{
	int fd = open(c->plan->plugin, O_RDONLY | O_CLOEXEC);
	struct file f = { 0 };
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		f.bytes = (size_t)st.st_size;
		f.at = mmap(NULL, f.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (f.at != MAP_FAILED) {
			look_at_sections(c, &f);
			munmap((void *)(uintptr_t)f.at, f.bytes);
		}
	}
	close(fd);
}

/* --- the struct --- */

/* Which promise it is that the loader's words name. */
static enum promise promise_of(const char *text)
{
	static const struct {
		const char *words;
		enum promise p;
	} known[] = {
		{ "speaks ABI", P_major },
		{ "struct of", P_size },
		{ "required member", P_members },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strstr(text, known[i].words))
			return known[i].p;
	return P_file;
}

/* Sizes of each minor of this major, as its header had it. */
static const uint32_t minor_bytes[] = { RUNNER_SIZE_1_0, RUNNER_SIZE_1_1 };
enum { MINORS = sizeof minor_bytes / sizeof *minor_bytes };

static void look_at_struct(struct check *c)
{
	const struct runner_plugin *p = c->plugin;
	const struct {
		const char *what, *text;
	} texts[] = { { "name", p->name }, { "version", p->version } };

	seen(c, P_major);
	seen(c, P_size);
	seen(c, P_members);
	if (p->abi_minor < MINORS && p->size != minor_bytes[p->abi_minor])
		broke(c, P_size, "%u bytes, a plugin of ABI 1.%u has %u", p->size, p->abi_minor,
		      minor_bytes[p->abi_minor]);
	if (p->abi_minor >= MINORS && p->size < minor_bytes[MINORS - 1])
		broke(c, P_size, "%u bytes, less than ABI 1.%d has", p->size, MINORS - 1);
	for (size_t i = 0; i < 2; i++) {
		const char *t = texts[i].text;
		size_t n = strspn(t, "abcdefghijklmnopqrstuvwxyz0123456789_-.+~"
		                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

		if (!n || t[n] || n > 64)
			broke(c, P_members, "%s is '%.40s', want 1 to 64 of A-Z a-z 0-9 _-.+~",
			      texts[i].what, t);
	}
}

bool shape_map(struct check *c)
{
	struct traces before = traces_now(), after;
	struct err err = { 0 };
	int code;

	CHECK(!c->plugin); /* one a process */
	enter(c, CALL_ENTRY);
	code = plugin_map(c->plan->plugin, &c->plugin, &err);
	leave(c, CALL_ENTRY);
	seen(c, P_file);
	if (code < 0) {
		broke(c, promise_of(err.text), "%s", err.text);
		return false;
	}
	look_at_struct(c);
	after = traces_now();
	seen(c, P_entry);
	if (after.threads != before.threads)
		broke(c, P_entry, "loading it started a thread");
	/* One is the private copy, see plugin.h. */
	if (after.descriptors != before.descriptors + 1)
		broke(c, P_entry, "loading it left %zd descriptors open",
		      (ssize_t)(after.descriptors - before.descriptors) - 1);
	snprintf(c->report->about, sizeof c->report->about,
	         "%.64s %.64s, ABI %u.%u, %u bytes%s%s%s", c->plugin->name, c->plugin->version,
	         c->plugin->abi_major, c->plugin->abi_minor, c->plugin->size,
	         c->plugin->flags & RUNNER_INLINE_OK ? ", INLINE_OK" : "",
	         c->plugin->flags & RUNNER_WORK_REMOTE ? ", WORK_REMOTE" : "",
	         c->plugin->flags & RUNNER_NO_PROCESS ? ", NO_PROCESS" : "");
	c->report->is_mapped = true;
	return true;
}
