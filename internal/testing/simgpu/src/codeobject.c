/*
 * Reads the kernels that an AMD code object declares. It is an ELF image with a note that lists the
 * kernels, in MessagePack ("Code Object V3 Metadata" of LLVM's guide to AMDGPU). In a bundle of
 * several images, the image for the simulated architecture is used.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

enum { MAX_IMAGE = 64 << 20, AMDGPU = 224, METADATA = 32, MACH = 0xFF, GFX906 = 0x2F, MAX_DEPTH_OF = 16 };

/* ---- MessagePack ---- */

struct pack {
    const u8 *p, *end;
    bool bad;
};

static u64 take(struct pack *m, u32 bytes) {
    u64 v = 0;
    if ((u64)(m->end - m->p) < bytes) {
        m->bad = true;
        m->p = m->end;
        return 0;
    }
    while (bytes--)
        v = v << 8 | *m->p++;
    return v;
}

static u32 container(struct pack *m, u8 fix, u8 wide) {
    u8 c = (u8)take(m, 1);
    u64 n = 0;
    if ((c & 0xF0) == fix)
        n = c & 15;
    else if (c == wide)
        n = take(m, 2);
    else if (c == wide + 1)
        n = take(m, 4);
    else
        m->bad = true;
    if (n > (u64)(m->end - m->p))
        m->bad = true;
    return m->bad ? 0 : (u32)n;
}

static u32 map(struct pack *m) {
    return container(m, 0x80, 0xDE);
}

static u32 array(struct pack *m) {
    return container(m, 0x90, 0xDC);
}

static u64 number(struct pack *m) {
    u8 c = (u8)take(m, 1);
    if (c < 0x80)
        return c;
    if (c >= 0xCC && c <= 0xCF)
        return take(m, 1u << (c - 0xCC));
    m->bad = true;
    return 0;
}

/* Reads a string into n bytes. A longer string is cut. */
static void string(struct pack *m, char *out, size_t n) {
    u8 c = (u8)take(m, 1);
    u64 len = (c & 0xE0) == 0xA0 ? c & 31u : c >= 0xD9 && c <= 0xDB ? take(m, 1u << (c - 0xD9)) : UINT64_MAX;
    out[0] = 0;
    if (m->bad || len > (u64)(m->end - m->p)) {
        m->bad = true;
        return;
    }
    snprintf(out, n, "%.*s", (int)(len < n ? len : n - 1), (const char *)m->p);
    m->p += len;
}

static void skip(struct pack *m, int depth) {
    if (m->bad || m->p == m->end || depth > MAX_DEPTH_OF) {
        m->bad = true;
        return;
    }
    u8 c = *m->p;
    u64 n;
    if ((c & 0xF0) == 0x80 || c == 0xDE || c == 0xDF) {
        for (n = 2 * (u64)map(m); n && !m->bad; n--)
            skip(m, depth + 1);
    } else if ((c & 0xF0) == 0x90 || c == 0xDC || c == 0xDD) {
        for (n = array(m); n && !m->bad; n--)
            skip(m, depth + 1);
    } else if ((c & 0xE0) == 0xA0 || (c >= 0xD9 && c <= 0xDB)) {
        char text[4];
        string(m, text, sizeof text);
    } else if (c < 0x80 || c >= 0xE0 || c == 0xC0 || c == 0xC2 || c == 0xC3) {
        take(m, 1);
    } else if (c >= 0xCA && c <= 0xD3) {
        static const u8 bytes[] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
        take(m, 1);
        take(m, bytes[c - 0xCA]);
    } else {
        m->bad = true;
    }
}

/* ---- kernels ---- */

static void argument(struct pack *m, struct function *f) {
    u64 off = 0, size = 0;
    char key[32], kind[48] = "";
    for (u32 n = map(m); n && !m->bad; n--) {
        string(m, key, sizeof key);
        if (!strcmp(key, ".offset"))
            off = number(m);
        else if (!strcmp(key, ".size"))
            size = number(m);
        else if (!strcmp(key, ".value_kind"))
            string(m, kind, sizeof kind);
        else
            skip(m, 0);
    }
    if (!m->bad && strncmp(kind, "hidden_", 7) != 0 && function_param(f, off, size, !strcmp(kind, "global_buffer")) != OK)
        m->bad = true;
}

static void kernel(struct pack *m, struct module *into) {
    char key[48], name[160] = "";
    struct function *f = module_add(into, "");
    f->kinds = true;
    for (u32 n = map(m); n && !m->bad; n--) {
        string(m, key, sizeof key);
        if (!strcmp(key, ".name"))
            string(m, name, sizeof name);
        else if (!strcmp(key, ".group_segment_fixed_size"))
            f->shared = (u32)number(m);
        else if (!strcmp(key, ".private_segment_fixed_size"))
            f->local = (u32)number(m);
        else if (!strcmp(key, ".max_flat_workgroup_size"))
            f->threads = (u32)number(m);
        else if (!strcmp(key, ".args"))
            for (u32 a = array(m); a && !m->bad; a--)
                argument(m, f);
        else
            skip(m, 0);
    }
    if (!name[0] || !f->threads || f->threads > MAX_THREADS)
        m->bad = true;
    free(f->name);
    f->name = strdup(name);
}

static int metadata(struct module *m, const u8 *p, u64 n) {
    struct pack pack = {p, p + n, false};
    bool found = false;
    char key[48];
    for (u32 i = map(&pack); i && !pack.bad; i--) {
        string(&pack, key, sizeof key);
        if (strcmp(key, "amdhsa.kernels") != 0) {
            skip(&pack, 0);
            continue;
        }
        found = true;
        for (u32 k = array(&pack); k && !pack.bad; k--)
            kernel(&pack, m);
    }
    return pack.bad || !found ? E_IMAGE : OK;
}

static int notes(struct module *m, const u8 *p, u64 n) {
    while (n >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        memcpy(&h, p, sizeof h);
        u64 name = (h.n_namesz + 3ull) & ~3ull, desc = (h.n_descsz + 3ull) & ~3ull;
        if (name > n - sizeof h || h.n_descsz > n - sizeof h - name)
            return E_IMAGE;
        if (h.n_type == METADATA && h.n_namesz == 7 && !memcmp(p + sizeof h, "AMDGPU", 7))
            return metadata(m, p + sizeof h + name, h.n_descsz);
        if (desc > n - sizeof h - name)
            break;
        p += sizeof h + name + desc;
        n -= sizeof h + name + desc;
    }
    return E_NOT_FOUND;
}

/* ---- images ---- */

static int elf(struct module *m, const u8 *image) {
    Elf64_Ehdr h;
    if (!guest_read(&h, image, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64)
        return E_IMAGE;
    if (h.e_machine != AMDGPU)
        return E_IMAGE;
    if ((h.e_flags & MACH) != GFX906)
        return E_NO_BINARY;
    if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > MAX_IMAGE)
        return E_IMAGE;
    int rc = E_NOT_FOUND;
    for (u32 i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr ph;
        if (!guest_read(&ph, image + h.e_phoff + i * sizeof ph, sizeof ph))
            return E_IMAGE;
        if (ph.p_type == PT_LOAD && ph.p_flags & PF_X)
            m->compiled = true;
        if (ph.p_type != PT_NOTE || rc != E_NOT_FOUND)
            continue;
        if (ph.p_offset > MAX_IMAGE || ph.p_filesz > MAX_IMAGE)
            return E_IMAGE;
        u8 *note = malloc(ph.p_filesz + 1);
        rc = guest_read(note, image + ph.p_offset, ph.p_filesz) ? notes(m, note, ph.p_filesz) : E_IMAGE;
        free(note);
    }
    return rc == E_NOT_FOUND ? E_IMAGE : rc;
}

static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";

static int bundle(struct module *m, const u8 *image) {
    u64 n, at = sizeof magic - 1 + 8;
    if (!guest_read(&n, image + sizeof magic - 1, 8) || n > 1024)
        return E_IMAGE;
    for (; n; n--) {
        u64 h[3]; /* offset and size of the image, length of its name */
        char name[128] = "";
        if (!guest_read(h, image + at, sizeof h) || h[2] >= sizeof name || !guest_read(name, image + at + sizeof h, h[2]))
            return E_IMAGE;
        at += sizeof h + h[2];
        const char *arch = strstr(name, "gfx906");
        if (!strncmp(name, "hip", 3) && arch && (!arch[6] || arch[6] == ':') && h[0] <= MAX_IMAGE)
            return elf(m, image + h[0]);
    }
    return E_NO_BINARY;
}

int codeobject_read(struct module *m, const void *image, char *log, size_t len) {
    char start[sizeof magic - 1] = "";
    (void)log, (void)len;
    if (guest_read(start, image, sizeof start) && !memcmp(start, magic, sizeof start))
        return bundle(m, image);
    return elf(m, image);
}
