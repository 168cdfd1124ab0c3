// Command path counts what somebody has to read who follows a call of this module from its beginning to its end: the functions that it
// enters, the files that have them, and the returns to a file that was already left.
//
//	go run ./internal/testing/path
//	go run ./internal/testing/path -functions "launch through a queue"
//
// With -functions it prints the functions of one call, in the order in which they are entered first.
//
// It builds the program measured with a call at the head of each function of this module, which notes that the function was entered. A
// build for coverage (go build -cover) tells the same functions, but not in which order they are entered. Functions count that any
// goroutine enters while the call runs. The order is that of the first entries on the goroutine that calls: if a function of another file
// is entered, and that file is not a new one, it is a return.
//
// The calls are made on the simulated CUDA device, or without a C compiler on a device of the host with memory of its own. Kernels are
// launched on OpenCL's first device, or on that device of the host, and divided among two devices of the host.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-halyard/halyard/internal/testing/path/hook"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

const (
	module   = "github.com/go-halyard/halyard"
	here     = module + "/internal/testing/path"
	measured = here + "/measured"
	tags     = "cuda opencl"
)

var listed = flag.String("functions", "", "print the functions of the `call`")

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "path:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "halyard-path-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := build(dir)
	if err != nil {
		return err
	}
	program := exec.Command(filepath.Join(dir, "measured"))
	program.Env = os.Environ()
	if cuda, _, err := simgpu.Build(filepath.Join(os.TempDir(), "halyard-simgpu")); err == nil {
		program.Env = append(program.Env, "HALYARD_CUDA_LIBRARY="+cuda)
	} else {
		fmt.Fprintln(os.Stderr, "path: no simulated device:", err)
	}
	program.Stderr = os.Stderr
	out, err := program.Output()
	if err != nil {
		return err
	}
	return print(out, files)
}

// build builds the program, and returns the file and the name of each function, by the function's number: "hal/launch.go Stream.Launch".
func build(dir string) (functions []string, err error) {
	list := exec.Command("go", "list", "-deps", "-tags", tags,
		"-f", "{{if not .Standard}}{{.ImportPath}}\t{{.Dir}}\t{{range .GoFiles}}{{.}} {{end}}{{end}}", measured)
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	replace := map[string]string{}
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSpace(line), "\t")
		if len(part) != 3 || part[0] != module && !strings.HasPrefix(part[0], module+"/") || strings.HasPrefix(part[0], here+"/") {
			continue
		}
		for _, name := range strings.Fields(part[2]) {
			text, entered, err := hooked(filepath.Join(part[1], name), len(functions))
			if err != nil {
				return nil, err
			}
			for _, f := range entered {
				functions = append(functions, strings.TrimPrefix(path.Join(strings.TrimPrefix(part[0], module), name), "/")+" "+f)
			}
			to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
			replace[filepath.Join(part[1], name)] = to
			if err := os.WriteFile(to, text, 0o600); err != nil {
				return nil, err
			}
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		return nil, err
	}
	compile := exec.Command("go", "build", "-tags", tags, "-overlay", filepath.Join(dir, "overlay.json"),
		"-o", filepath.Join(dir, "measured"), measured)
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, said)
	}
	return functions, nil
}

// hooked returns a file whose functions say that they are entered, the first of them with the given number, and their names. Lines
// stay where they are. A function that may not grow the stack does not say so.
func hooked(file string, first int) (text []byte, functions []string, err error) {
	if text, err = os.ReadFile(file); err != nil {
		return nil, nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	type edit struct {
		at   int
		text string
	}
	edits := []edit{{fset.Position(f.Name.End()).Offset, `; import path_ "` + here + `/hook"`}}
	for _, d := range f.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Body == nil || decl.Doc != nil && slices.ContainsFunc(decl.Doc.List, nosplit) {
			continue
		}
		edits = append(edits, edit{fset.Position(decl.Body.Lbrace).Offset + 1, fmt.Sprintf(" path_.In(%d);", first+len(functions))})
		name := decl.Name.Name
		if decl.Recv != nil {
			receiver := decl.Recv.List[0].Type
			name = strings.TrimPrefix(string(text[receiver.Pos()-f.FileStart:receiver.End()-f.FileStart]), "*") + "." + name
		}
		functions = append(functions, name)
	}
	if len(functions) == 0 {
		return text, nil, nil
	}
	for _, e := range slices.Backward(edits) {
		text = slices.Insert(text, e.at, []byte(e.text)...)
	}
	return text, functions, nil
}

func nosplit(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:nosplit") }

// print prints a table of what the program has printed.
func print(out []byte, functions []string) error {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	lines.Scan()
	if *listed == "" {
		fmt.Printf("on %s\n\n", lines.Text())
	}
	var files []string
	for _, f := range functions {
		file, _, _ := strings.Cut(f, " ")
		files = append(files, file)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 1, ' ', 0)
	if *listed != "" {
		return list(lines, functions)
	}
	fmt.Fprint(w, "| call\t| functions\t| files\t| returns\t| in buffer: functions\t| files\t| returns\t|\n",
		"|---\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|\n")
	for lines.Scan() {
		var call struct {
			Name string
			hook.Entries
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s", call.Name)
		for _, folder := range []string{"", "buffer/"} {
			all, own := inside(call.All, files, folder), inside(call.Own, files, folder)
			fmt.Fprintf(w, "\t| %d\t| %d\t| %d", len(all), len(slices.Compact(slices.Sorted(slices.Values(all)))), returns(own))
		}
		fmt.Fprintln(w, "\t|")
	}
	return w.Flush()
}

// list prints the functions of the call that -functions names.
func list(lines *bufio.Scanner, functions []string) error {
	for lines.Scan() {
		var call struct {
			Name string
			hook.Entries
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return err
		}
		if call.Name == *listed {
			for _, f := range call.All {
				fmt.Println(functions[f])
			}
			return nil
		}
	}
	return fmt.Errorf("no call %q", *listed)
}

// inside returns the files of functions, those in a folder or below it.
func inside(functions []int, files []string, folder string) (all []string) {
	for _, f := range functions {
		if strings.HasPrefix(files[f], folder) {
			all = append(all, files[f])
		}
	}
	return all
}

// returns counts how often the next function is in another file than the last one, and in one where an earlier one was.
func returns(files []string) (n int) {
	been := map[string]bool{}
	for i, f := range files {
		if i > 0 && f != files[i-1] && been[f] {
			n++
		}
		been[f] = true
	}
	return n
}
