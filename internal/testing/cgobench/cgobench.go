//go:build cgo

package cgobench

/*
#include <stdint.h>

typedef intptr_t (*fn7)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static intptr_t sum7(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, uintptr_t g) {
	return (intptr_t)(a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g);
}

static uintptr_t addr7(void) { return (uintptr_t)&sum7; }

static intptr_t call7(uintptr_t fn, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, uintptr_t g) {
	return ((fn7)fn)(a, b, c, d, e, f, g);
}

static intptr_t call7p(uintptr_t fn, void *a, void *b, void *c, void *d, void *e, void *f, void *g) {
	return ((fn7)fn)((uintptr_t)a, (uintptr_t)b, (uintptr_t)c, (uintptr_t)d, (uintptr_t)e, (uintptr_t)f, (uintptr_t)g);
}
*/
import "C"

import "unsafe"

// Sum7 is the address of a C function of seven words that returns
// a + 2b + 3c + 4d + 5e + 6f + 7g.
func Sum7() uintptr { return uintptr(C.addr7()) }

// Call7 calls a C function of seven words through cgo.
func Call7(fn, a, b, c, d, e, f, g uintptr) uintptr {
	return uintptr(C.call7(C.uintptr_t(fn), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c),
		C.uintptr_t(d), C.uintptr_t(e), C.uintptr_t(f), C.uintptr_t(g)))
}

// Call7Pointers is Call7 with pointers. cgo checks each of them.
func Call7Pointers(fn uintptr, a, b, c, d, e, f, g unsafe.Pointer) uintptr {
	return uintptr(C.call7p(C.uintptr_t(fn), a, b, c, d, e, f, g))
}
