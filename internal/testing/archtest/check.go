package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Violation is one import that the rules do not allow.
type Violation struct {
	File   string // from the root of the module; "" if the import is reached through other packages
	Folder string // of the importing package
	Import string
	Via    []string // the folders in between
	Why    string   // the rule's reason
}

func (v Violation) String() string {
	at := v.File
	if at == "" {
		at = strings.Join(append([]string{v.Folder}, v.Via...), " -> ")
	}
	return fmt.Sprintf("%s imports %q: %s", at, v.Import, v.Why)
}

// Tree is the imports of a module's packages, by folder.
type Tree map[string][]Import

// Import is one import line.
type Import struct {
	File string
	Path string // a folder of the module, or an import path of another
	Ours bool
}

// Read collects the imports of every Go file that is not a test, whatever its build constraints, of this module and of those inside it
// whose paths begin with its own. Other modules, testdata and hidden folders are left out.
func Read(root fs.FS) (Tree, error) {
	tree := Tree{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "." {
				return nil
			}
			base := path.Base(name)
			mod, err := fs.ReadFile(root, path.Join(name, "go.mod"))
			foreign := err == nil && !strings.HasPrefix(string(mod), "module "+Module+"/"+name+"\n")
			if foreign || base == "testdata" || base[0] == '.' || base[0] == '_' {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		if _, ok := tree[folder]; !ok {
			tree[folder] = nil // a package without imports needs a rule too
		}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			imp := Import{File: name, Path: p}
			if rest, ok := strings.CutPrefix(p, Module); ok && (rest == "" || rest[0] == '/') {
				imp.Path, imp.Ours = strings.TrimPrefix(rest, "/"), true
			}
			tree[folder] = append(tree[folder], imp)
		}
		return nil
	})
	return tree, err
}

// standard reports whether an import path is the standard library's: its first element has no
// dot. "C", which is cgo, counts as standard: it changes what a package links with, but imports no package.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

// Check returns the imports in the tree that break the rules, sorted by folder.
func Check(tree Tree, rules, closures []Rule) []Violation {
	var found []Violation
	folders := make([]string, 0, len(tree))
	for f := range tree {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	for _, folder := range folders {
		rule := ruleFor(rules, folder)
		if rule == nil {
			found = append(found, Violation{Folder: folder, File: folder, Why: "no rule covers this folder"})
			continue
		}
		for _, imp := range tree[folder] {
			if !imp.Ours && standard(imp.Path) || rule.allows(imp.Path) {
				continue
			}
			found = append(found, Violation{File: imp.File, Folder: folder, Import: imp.Path, Why: rule.Why})
		}
	}
	for i := range closures {
		found = append(found, reach(tree, &closures[i])...)
	}
	return found
}

// reach follows the imports of one folder and reports those that the rule does not allow. An
// import of another module is reported unless the rule names it. For backends such imports are left out, because
// Rules covers them.
func reach(tree Tree, rule *Rule) []Violation {
	var found []Violation
	backend := strings.HasPrefix(rule.Folder, "backends/")
	seen := map[string]bool{rule.Folder: true}
	var visit func(folder string, via []string)
	visit = func(folder string, via []string) {
		for _, imp := range tree[folder] {
			if seen[imp.Path] || !imp.Ours && (standard(imp.Path) || backend) {
				continue
			}
			seen[imp.Path] = true
			if !rule.allows(imp.Path) {
				found = append(found, Violation{Folder: rule.Folder, Import: imp.Path, Via: via, Why: rule.Why})
				continue
			}
			if imp.Ours {
				visit(imp.Path, append(slices.Clone(via), imp.Path))
			}
		}
	}
	visit(rule.Folder, nil)
	return found
}
