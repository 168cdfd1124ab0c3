//go:build linux

package mpi

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// header is what a header file of an MPI says about names.
type header map[string]string

var (
	define = regexp.MustCompile(`(?m)^\s*#define\s+(\w+)\s+(.+?)\s*(?:/\*.*)?$`)
	member = regexp.MustCompile(`(?m)^\s*(MPI_\w+)\s*=\s*(-?\w+)`)
	enums  = regexp.MustCompile(`(?s)enum\s*\{(.*?)\}`)
	note   = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

func readHeader(t *testing.T, path string) header {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h := header{}
	for _, m := range enums.FindAllStringSubmatch(string(text), -1) {
		for i, name := range strings.Split(note.ReplaceAllString(m[1], ""), ",") {
			if name = strings.TrimSpace(name); name != "" && !strings.Contains(name, "=") {
				h[name] = strconv.Itoa(i) // C counts from 0
			}
		}
	}
	for _, re := range []*regexp.Regexp{define, member} {
		for _, m := range re.FindAllStringSubmatch(string(text), -1) {
			if _, had := h[m[1]]; !had {
				h[m[1]] = m[2]
			}
		}
	}
	return h
}

// cast is a conversion to a type of MPI.
var cast = regexp.MustCompile(`\((?:MPI_\w+|void\s*\*)\s*\*?\)`)

// value is the integer that a name stands for. ok is false if the header does not have the name.
func (h header) value(t *testing.T, name string) (v int, ok bool) {
	t.Helper()
	text, ok := h[name]
	if !ok {
		return 0, false
	}
	text = strings.Trim(cast.ReplaceAllString(text, ""), " ()")
	if before, after, sum := strings.Cut(text, "+"); sum {
		base, found := h.value(t, before)
		add, err := strconv.Atoi(after)
		if !found || err != nil {
			t.Fatalf("%s is %q", name, h[name])
		}
		return base + add, true
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		if _, more := h[text]; more {
			return h.value(t, text)
		}
		t.Fatalf("%s is %q: %v", name, h[name], err)
	}
	return int(n), true
}

// Every constant is as the library's header file has it.
func TestTablesAgreeWithHeaders(t *testing.T) {
	onEach(t, func(t *testing.T, in installation) {
		if _, err := os.Stat(in.header); err != nil {
			t.Skip("it is installed without its header file")
		}
		h := readHeader(t, in.header)
		compared := 0
		for i := range handles {
			want := &handles[i]
			if in.abi == abiOpenMPI {
				if !regexp.MustCompile(`,\s*` + want.openmpi + `\s*\)`).MatchString(h[want.name]) {
					t.Errorf("%s is %q, not %s", want.name, h[want.name], want.openmpi)
				}
				compared++
				continue
			}
			value := map[abiKind]uintptr{abiMPICH: want.mpich, abiStandard: want.standard}[in.abi]
			if got, ok := h.value(t, want.name); !ok || uintptr(got) != value {
				t.Errorf("%s is %#x in the header, and %#x here", want.name, got, value)
			}
			compared++
		}
		for i := range values {
			name := values[i].name
			if in.abi == abiOpenMPI && number(i) == maxErrorString {
				continue // Open MPI has it in a header file of its own
			}
			if got, ok := h.value(t, name); !ok || got != in.abi.number(number(i)) {
				t.Errorf("%s is %#x in the header (there: %v), and %#x here", name, got, ok, in.abi.number(number(i)))
			}
			compared++
		}
		for c := range classValues {
			name := classValues[c].name
			got, ok := h.value(t, name)
			if !ok {
				got, ok = h.value(t, strings.Replace(name, "MPI_", "MPIX_", 1))
			}
			if !ok {
				got = none
			}
			want := map[abiKind]int{abiOpenMPI: classValues[c].openmpi, abiMPICH: classValues[c].mpich, abiStandard: classValues[c].standard}[in.abi]
			if got != want {
				t.Errorf("%s is %d in the header, and %d here", name, got, want)
			}
			compared++
		}
		if got, ok := h.value(t, "MPI_IN_PLACE"); !ok || uintptr(got) != layouts[in.abi].inPlace {
			t.Errorf("MPI_IN_PLACE is %d in the header, and %d here", got, layouts[in.abi].inPlace)
		}
		if want := len(handles) + len(values) + len(classValues) - 1; compared < want {
			t.Errorf("%d names were compared, of %d", compared, want)
		}
	})
}

// No ABI has two classes of one value, and each class belongs to a kind.
func TestClassesAreDistinct(t *testing.T) {
	for _, abi := range []abiKind{abiOpenMPI, abiMPICH, abiStandard} {
		for c := range classes {
			v := classValues[c]
			value := map[abiKind]int{abiOpenMPI: v.openmpi, abiMPICH: v.mpich, abiStandard: v.standard}[abi]
			if value == none {
				continue
			}
			if got := abi.classOf(value); got != c {
				t.Errorf("%d of %s is %s, not %s", value, abi, got, c)
			}
		}
		if got := abi.classOf(9999); got != classUnlisted {
			t.Errorf("9999 of %s is %s", abi, got)
		}
	}
	for c, want := range map[errorClass]error{classTruncate: driver.ErrTruncated, classProcFailed: driver.ErrRankLost, classRevoked: driver.ErrRankLost,
		classNoMem: driver.ErrOutOfMemory, classRank: driver.ErrInvalidArgument, classIntern: driver.ErrEngine, classUnlisted: driver.ErrEngine} {
		if got := kindOf(c); got != want {
			t.Errorf("%s is of kind %v, want %v", c, got, want)
		}
	}
}

// Without a library the error names each one that was tried, and why it is not taken.
func TestMissingLibraryIsUnavailable(t *testing.T) {
	t.Setenv(EnvLibrary, "/nonexistent/libmpi.so.12")
	_, err := load(launcher{})
	if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "/nonexistent/libmpi.so.12") || !strings.Contains(err.Error(), EnvLibrary) {
		t.Errorf("%v", err)
	}
	t.Setenv(EnvLibrary, "")
	t.Setenv(envPreload, "/nonexistent/libmpi_gtl.so")
	if _, err = load(launcher{}); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "/nonexistent/libmpi_gtl.so") {
		t.Errorf("%v", err)
	}
}

func TestNamesBeginWithTheLaunchersLibrary(t *testing.T) {
	if a, b := names(launcher{maker: makerOpenMPI}), names(launcher{maker: makerMPICH}); !strings.Contains(a[0], "40") || !strings.Contains(b[0], "12") || len(a) != len(b) {
		t.Errorf("%v, %v", a, b)
	}
}

func TestLaunchersAreTold(t *testing.T) {
	all := []string{"OMPI_COMM_WORLD_SIZE", "PALS_RANKID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMI_SIZE", "PMI_FD", "PMI_PORT", "PRTE_LAUNCHED", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "MPI_LOCALNRANKS"}
	for _, c := range []struct {
		env  string
		want launcher
	}{
		{"", launcher{}},
		{"PMI_SIZE=4", launcher{}}, // no way to the launcher is named
		{"PMI_SIZE=4 PMI_FD=9", launcher{hydra, 4, makerMPICH, false}},
		{"OMPI_COMM_WORLD_SIZE=3", launcher{"mpiexec of Open MPI", 3, makerOpenMPI, false}},
		{"OMPI_COMM_WORLD_SIZE=x PRTE_LAUNCHED=1", launcher{"mpiexec of Open MPI", 0, makerOpenMPI, true}},
		{"SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=1 PMI_SIZE=8 PMI_FD=3", launcher{"srun of Slurm", 8, makerUnknown, false}},
		{"SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=0 PMI_SIZE=1 PMI_FD=3 MPI_LOCALNRANKS=1", launcher{hydra, 1, makerMPICH, false}},
		{"FLUX_TASK_RANK=0 FLUX_JOB_SIZE=2 PMI_SIZE=2 PMI_FD=3", launcher{"flux run", 2, makerUnknown, false}},
		{"PALS_RANKID=0 PMI_SIZE=2 PMI_FD=3", launcher{"PALS of Cray", 2, makerUnknown, false}},
	} {
		for _, name := range all {
			t.Setenv(name, "")
		}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			t.Setenv(name, value)
		}
		if got := detectLauncher(); got != c.want {
			t.Errorf("%q is %+v, want %+v", c.env, got, c.want)
		}
	}
}

func TestLaunchersFitTheirLibraries(t *testing.T) {
	for text, want := range map[string][4]bool{ // Open MPI's launcher, that of its version 5, Hydra, Slurm
		"Open MPI v5.0.11": {true, true, false, true}, "Open MPI v4.1.4": {true, false, false, true}, "MPICH Version: 5.0.2": {false, false, true, true},
		"Intel(R) MPI Library 2021.19": {false, false, true, true}, "MVAPICH2 Version: 2.3": {false, false, true, true}, "Another MPI": {true, true, true, true},
	} {
		for i, l := range []launcher{{maker: makerOpenMPI}, {maker: makerOpenMPI, prrte: true}, {maker: makerMPICH}, {}} {
			if got := l.fits(text); got != want[i] {
				t.Errorf("launcher %d and %s: %v", i, text, got)
			}
		}
	}
}

// fakeLibrary builds a library that has every function of MPI, and answers with a text and a version of the standard ABI.
func fakeLibrary(t *testing.T, text string, abi int) string {
	t.Helper()
	cc := cmp.Or(os.Getenv("CC"), "cc")
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler: ", err)
	}
	source := "#include <stdlib.h>\n#include <string.h>\n"
	functions := reflect.TypeFor[calls]()
	for i := range functions.NumField() {
		field := functions.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("sym"), ",")
		switch name {
		case "MPI_Get_library_version":
			source += "int MPI_Get_library_version(char *to, int *n) { strcpy(to, \"" + text + "\"); *n = strlen(to); return 0; }\n"
		case "MPI_Abi_get_version":
			source += "int MPI_Abi_get_version(int *major, int *minor) { *major = " + strconv.Itoa(abi) + "; *minor = 0; return 0; }\n"
		case "MPI_Init_thread":
			source += "int MPI_Init_thread(void) { exit(1); }\n"
		default:
			source += "int " + name + "(void) { return 0; }\n"
		}
	}
	dir := t.TempDir()
	file, lib := filepath.Join(dir, "fake.c"), filepath.Join(dir, "libmpi.so")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

// A library is taken for what it says itself. One that is not known is refused, and so is Intel's of the standard ABI; the error says which it was.
func TestRecognition(t *testing.T) {
	for _, c := range []struct {
		text string
		abi  int
		want abiKind
		err  string
	}{
		{"MPICH Version: 4.0.2", -1, abiMPICH, ""},
		{"Intel(R) MPI Library 2021.19 for Linux* OS", -1, abiMPICH, ""},
		{"MPI VERSION : CRAY MPICH version 8.1.29", -1, abiMPICH, ""},
		{"Something new 7.1", 1, abiStandard, ""},
		{"Something new 7.1", -1, 0, "Something new 7.1"},
		{"Intel(R) MPI Library 2021.19 for Linux* OS", 1, 0, "draft"},
	} {
		t.Setenv(EnvLibrary, fakeLibrary(t, c.text, c.abi))
		lib, err := load(launcher{})
		switch {
		case c.err == "" && (err != nil || lib.abi != c.want || lib.text != c.text):
			t.Errorf("%s: %+v, %v", c.text, lib, err)
		case c.err != "" && (!errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), os.Getenv(EnvLibrary))):
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// String returns the class's name in MPI.
func (c errorClass) String() string {
	if c < 0 || c >= classes {
		return "an error class of the library's own"
	}
	return classValues[c].name
}
