package image

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

const (
	value   = driver.ParamValue
	pointer = driver.ParamPointer
	unknown = driver.ParamUnknown
)

func formatOf(name string) driver.Format {
	switch {
	case name == "PTX":
		return driver.FormatPTX
	case strings.Contains(name, "cubin") || name == "long names":
		return driver.FormatCubin
	}
	return driver.FormatCodeObject
}

// expect compares what is read from an image with what is in it.
func expect(t *testing.T, format driver.Format, data []byte, want ...driver.KernelInfo) {
	t.Helper()
	got, err := Read(format, data)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if g := got[w.Name]; g == nil {
			t.Errorf("there is no kernel %q", w.Name)
		} else if !reflect.DeepEqual(*g, w) {
			t.Errorf("read\n%+v, want\n%+v", *g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("kernels %v, want %d", slices.Sorted(maps.Keys(got)), len(want))
	}
}

func TestPTX(t *testing.T) {
	expect(t, driver.FormatPTX, []byte(samplePTX),
		driver.KernelInfo{Name: "saxpy", Known: true, Params: []driver.Param{{Kind: value, Size: 4}, {Kind: pointer, Size: 8}, {Size: 8}, {Name: "n", Kind: value, Size: 4}}},
		driver.KernelInfo{Name: "_Z4tmplIiEvT_", Known: true, Params: []driver.Param{{Name: "p0", Kind: value, Size: 32}, {Name: "p1", Kind: value, Size: 8},
			{Name: "p2", Kind: unknown, Size: 8}, {Name: "p3", Kind: value, Size: 6}, {Name: "p4", Kind: unknown}}},
		driver.KernelInfo{Name: "shaped", Known: true, RequiredBlock: [3]uint32{32, 4, 1}},
		driver.KernelInfo{Name: "nothing", Known: true})
	// The driver ignores everything after a zero byte.
	expect(t, driver.FormatPTX, []byte(".version 7.0\n.entry k() { ret; }\x00\n.entry behind() {"), driver.KernelInfo{Name: "k", Known: true})
}

// The driver reports what is wrong with PTX.
func TestDamagedPTX(t *testing.T) {
	for _, text := range []string{"", "text", ".entry k(.param .u32 a", ".entry k(.param .u32 a) /*", ".entry k(.param .b8 a[99999999999]) {", ".entry (", `.file 1 "\\`} {
		readAny(t, driver.FormatPTX, []byte(text))
	}
	expect(t, driver.FormatPTX, []byte(".entry k(.param .b64 a[1048576][1048576][1048576][1048576]) {"),
		driver.KernelInfo{Name: "k", Known: true, Params: []driver.Param{{Name: "a"}}})
}

func TestCubin(t *testing.T) {
	expect(t, driver.FormatCubin, sampleCubin(),
		driver.KernelInfo{Name: "saxpy", Known: true, Params: []driver.Param{{Kind: value, Size: 4}, {Kind: unknown, Size: 8}, {Kind: value, Size: 4}}},
		driver.KernelInfo{Name: "block_sum", Known: true, Params: []driver.Param{{Kind: pointer, Size: 8}}},
		driver.KernelInfo{Name: "shaped", Known: true, RequiredBlock: [3]uint32{8, 4, 2},
			Params: []driver.Param{{Kind: value, Size: 8000}, {Kind: pointer, Size: 8}}},
		driver.KernelInfo{Name: "nothing", Known: true})
	expect(t, driver.FormatCubin, samples()["old cubin"], driver.KernelInfo{Name: "k", Known: true, Params: []driver.Param{{Size: 8}}})
}

// A kernel whose parameters are described in an unknown way is listed too.
func TestCubinThatSaysTooLittle(t *testing.T) {
	for what, info := range map[string][]byte{
		"a parameter is missing":    infoOf(paramInfo(1, 8, 8, 0), paramBytes(16)),
		"a parameter stands twice":  infoOf(paramInfo(0, 0, 8, 0), paramInfo(0, 0, 8, 0), paramBytes(8)),
		"parameters overlap":        infoOf(paramInfo(0, 0, 8, 0), paramInfo(1, 4, 8, 0), paramBytes(12)),
		"more bytes than described": infoOf(paramInfo(0, 0, 8, 0), paramBytes(24)),
		"nothing is described":      paramBytes(24),
		"a format is not known":     infoOf([]byte{9, 0x17, 0, 0}, paramInfo(0, 0, 8, 0), paramBytes(8)),
		"an attribute is short":     infoOf(attribute(infoParam, 1), paramBytes(8)),
	} {
		got, err := Read(driver.FormatCubin, makeCubin(7, 0x5a055a, cubinKernel{name: "k", info: info}))
		if err != nil || got["k"] == nil || got["k"].Known || got["k"].Params != nil {
			t.Errorf("%s: %+v, %v", what, got["k"], err)
		}
	}
}

func TestCodeObject(t *testing.T) {
	saxpy := driver.KernelInfo{Name: "saxpy", Known: true,
		Params: []driver.Param{{Kind: value, Size: 4}, {Name: "x", Kind: pointer, Size: 8, Const: true}, {Kind: pointer, Size: 8}}}
	sum := driver.KernelInfo{Name: "block_sum", Known: true, RequiredBlock: [3]uint32{8, 4, 2},
		Params: []driver.Param{{Kind: pointer, Size: 8, Const: true}, {Kind: value, Size: 32}, {Kind: unknown, Size: 8}}}
	nothing, unsaid := driver.KernelInfo{Name: "nothing", Known: true}, driver.KernelInfo{Name: "unsaid"}
	expect(t, driver.FormatCodeObject, sampleObject(), saxpy, sum, nothing, unsaid)
	expect(t, driver.FormatCodeObject, sampleBundle(), saxpy, sum, nothing, unsaid)
}

func TestBundleOfDifferentKernels(t *testing.T) {
	one := makeObject(0x2f, fields{"amdhsa.kernels", []any{fields{".name", "k", ".args", []any{arg(8, "global_buffer")}}}})
	other := makeObject(0x36, fields{"amdhsa.kernels", []any{fields{".name", "k", ".args", []any{arg(4, "by_value")}}, fields{".name", "more", ".args", []any{}}}})
	expect(t, driver.FormatCodeObject, makeBundle([]string{"hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx1030", "hip-spirv64"}, one, other, []byte("other code")),
		driver.KernelInfo{Name: "k"}, driver.KernelInfo{Name: "more", Known: true})
}

func TestUnknownImages(t *testing.T) {
	fatbin := little.AppendUint64(little.AppendUint32(nil, 0xba55ed50), 0)[:8]
	fatbin = append(append(fatbin[:6], 16, 0), 4, 0, 0, 0, 0, 0, 0, 0, 'c', 'o', 'd', 'e')
	compressed := append([]byte(compressedMagic), make([]byte, 28)...)
	compressed[4], compressed[8] = 2, byte(len(compressed))
	for _, c := range []struct {
		what   string
		format driver.Format
		data   []byte
	}{
		{"fatbin", driver.FormatFatbin, fatbin},
		{"source", driver.FormatOpenCLC, []byte("kernel void f() {}")},
		{"compressed bundle", driver.FormatCodeObject, compressed},
		{"code object of version 2", driver.FormatCodeObject, makeELF(machineAMDGPU, 0, 0x2f, []elfSection{{kind: programNotes, body: note("AMD", 10, []byte("---\nVersion: [ 1, 0 ]\n"))}})},
		{"cubin without symbols", driver.FormatCubin, makeELF(machineCUDA, 7, 0x5a055a, nil)},
	} {
		if got, err := Read(c.format, c.data); got != nil || err != nil {
			t.Errorf("%s: %v, %v; want neither", c.what, got, err)
		}
	}
	for what, data := range map[string][]byte{"short": fatbin[:len(fatbin)-1], "another format": []byte(strings.Repeat("text ", 10)), "empty": nil} {
		if _, err := Read(driver.FormatFatbin, data); !errors.Is(err, driver.ErrInvalidArgument) {
			t.Errorf("fatbin, %s: %v", what, err)
		}
	}
	if _, err := Read(driver.FormatCodeObject, compressed[:len(compressed)-1]); !errors.Is(err, driver.ErrInvalidArgument) {
		t.Errorf("a compressed bundle cut short: %v", err)
	}
}

// A driver does not know where an image ends.
func TestImagesThatAreCutShort(t *testing.T) {
	for name, data := range samples() {
		if name == "PTX" {
			continue // text may end between any two kernels
		}
		for n := range data {
			if _, err := Read(formatOf(name), data[:n]); !errors.Is(err, driver.ErrInvalidArgument) {
				t.Fatalf("%s: %d of %d bytes: %v", name, n, len(data), err)
			}
		}
	}
}

func TestImagesForAnotherMachine(t *testing.T) {
	for _, c := range []struct {
		format driver.Format
		data   []byte
	}{{driver.FormatCubin, sampleObject()}, {driver.FormatCodeObject, sampleCubin()}, {driver.FormatCubin, []byte(samplePTX)},
		{driver.FormatCodeObject, bytes.Repeat([]byte("text "), 100)}} {
		if _, err := Read(c.format, c.data); !errors.Is(err, driver.ErrInvalidArgument) {
			t.Errorf("%v: %v", c.format, err)
		}
	}
}

// A wrong byte anywhere in an image does no harm.
func TestOneByteIsWrong(t *testing.T) {
	for name, data := range samples() {
		if name == "long names" {
			continue // it takes long, and the other samples have everything that it has
		}
		for i := range data {
			for _, b := range []byte{0, 0xff, data[i] ^ 1} {
				forged := bytes.Clone(data)
				forged[i] = b
				readAny(t, formatOf(name), forged)
			}
		}
	}
}

// readAny reads an image that may be damaged.
func readAny(t testing.TB, format driver.Format, data []byte) {
	got, err := Read(format, data)
	var e *driver.Error
	switch {
	case err == nil:
	case got != nil:
		t.Fatal("there are kernels and an error: ", err)
	case !errors.As(err, &e) || e.Kind != driver.ErrInvalidArgument || e.Detail == "":
		t.Fatal("error ", err)
	}
	for name, k := range got {
		if name == "" || k.Name != name || !k.Known && k.Params != nil {
			t.Fatalf("%q: %+v", name, k)
		}
	}
}

// A count in an image must not be trusted: no memory is allocated for items that are not there.
func TestForgedCountsTakeNoMemory(t *testing.T) {
	forged := map[string][]byte{}
	object := func(metadata raw) []byte { return makeObject(0x2f, metadata) }
	forged["a list of 2^32 kernels"] = object("\x81\xaeamdhsa.kernels\xdd\xff\xff\xff\xff")
	forged["a map of 2^32 fields"] = object("\xdf\xff\xff\xff\xff\xa1a\x01")
	forged["lists in lists"] = object("\x81\xa1a" + raw(strings.Repeat("\xdd\x00\x01\x00\x00", 1<<14)))
	forged["a text of 2^32 bytes"] = object("\x81\xdb\xff\xff\xff\xff")

	cubin := sampleCubin()
	little.PutUint16(cubin[60:], 0) // the first section has the number of sections
	little.PutUint64(cubin[little.Uint64(cubin[40:])+32:], 1<<40)
	forged["2^40 sections of a cubin"] = cubin

	// Every name is the end of the one before, and so is every section of attributes.
	many := make([]cubinKernel, 2000)
	long := strings.Repeat("n", 1<<15)
	for i := range many {
		many[i] = cubinKernel{name: "k", info: paramInfo(0, 0, 8, 0)}
	}
	shared := makeCubin(7, 0x5a055a, append(many, cubinKernel{name: long})...)
	at, n := little.Uint64(shared[40:]), uint64(little.Uint16(shared[60:]))
	names := uint32(bytes.Index(shared, []byte(".text."+long)) - int(little.Uint64(shared[at+(n-1)*sectionSize+24:])))
	for i := uint64(4); i < n-1; i++ {
		little.PutUint32(shared[at+i*sectionSize:], names+uint32(i))
	}
	forged["names that share bytes"] = shared

	whole := sampleBundle()
	ids, images := make([]string, 400), make([][]byte, 400)
	for i := range ids {
		ids[i] = "hip-amdgcn-amd-amdhsa--gfx906"
	}
	images[0] = bytes.Repeat(sampleObject(), 20)
	bundle := makeBundle(ids, images...)
	for i := range ids { // each is a little shorter than the one before
		entry := len(bundleMagic) + 8 + i*(24+len(ids[0]))
		little.PutUint64(bundle[entry:], uint64(len(bundle)-len(images[0])))
		little.PutUint64(bundle[entry+8:], uint64(len(images[0])-i))
	}
	forged["entries of a bundle that share bytes"] = bundle
	little.PutUint64(whole[len(bundleMagic):], 1<<60)
	forged["2^60 entries of a bundle"] = whole

	for what, data := range forged {
		format := driver.FormatCodeObject
		if little.Uint16(data[18:]) == machineCUDA {
			format = driver.FormatCubin
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(format, data)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, driver.ErrInvalidArgument) {
			t.Errorf("%s: %v", what, err)
		}
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(32*len(data)+64<<10); took > most {
			t.Errorf("%s: %d bytes took %d of memory, more than %d", what, len(data), took, most)
		}
	}
}

func FuzzPTX(f *testing.F) {
	f.Add([]byte(samplePTX))
	for _, kernel := range strings.SplitAfter(samplePTX, "}\n") {
		f.Add([]byte(".version 8.0\n" + kernel))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAny(t, driver.FormatPTX, data) })
}

func FuzzCubin(f *testing.F) {
	for name, data := range samples() {
		if formatOf(name) == driver.FormatCubin {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAny(t, driver.FormatCubin, data) })
}

func FuzzCodeObject(f *testing.F) {
	f.Add(sampleObject())
	f.Add(sampleBundle())
	f.Fuzz(func(t *testing.T, data []byte) { readAny(t, driver.FormatCodeObject, data) })
}

// The metadata alone, which is hard to change within an image.
func FuzzMetadata(f *testing.F) {
	f.Add(new(packer).value(sampleMetadata("amdgcn-amd-amdhsa--gfx906", 256)).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) { readAny(t, driver.FormatCodeObject, makeObject(0x2f, raw(data))) })
}
