package translate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// printed is the text of a function, written by package go/printer. Parts of the text can be
// replaced.
type printed struct {
	p        *Package
	text     string
	fset     *token.FileSet
	body     *ast.BlockStmt
	was, now []ast.Node // the nodes of the body in the function's file, and the same nodes in the text
}

// edit replaces the text between two offsets.
type edit struct {
	from, to int
	text     string
}

func (t *printed) at(pos token.Pos) int { return t.fset.Position(pos).Offset }

func (t *printed) replace(now ast.Node, by string) edit {
	return edit{t.at(now.Pos()), t.at(now.End()), by}
}

func (t *printed) insert(pos token.Pos, text string) edit { return edit{t.at(pos), t.at(pos), text} }

// print prints a function.
func (p *Package) print(f *ast.FuncDecl) (*printed, bool) {
	decl := *f
	decl.Doc = nil
	var comments []*ast.CommentGroup
	for _, file := range p.Files {
		if file.FileStart <= decl.Pos() && decl.Pos() < file.FileEnd {
			comments = authors(file.Comments)
		}
	}
	var b bytes.Buffer
	b.WriteString("package p\n")
	mode := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	if err := mode.Fprint(&b, p.Fset, &printer.CommentedNode{Node: &decl, Comments: comments}); err != nil {
		return nil, false
	}
	t := &printed{p: p, text: b.String(), fset: token.NewFileSet()}
	file, err := parser.ParseFile(t.fset, "", t.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || len(file.Decls) != 1 {
		return nil, false
	}
	again, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok {
		return nil, false
	}
	t.body, t.was, t.now = again.Body, nodes(f.Body), nodes(again.Body)
	if len(t.was) != len(t.now) {
		return nil, false
	}
	for i := range t.was {
		if fmt.Sprintf("%T", t.was[i]) != fmt.Sprintf("%T", t.now[i]) {
			return nil, false
		}
	}
	return t, true
}

// authors returns the comments that the author wrote. It leaves out those that package load wrote (load.Position).
func authors(groups []*ast.CommentGroup) (all []*ast.CommentGroup) {
	for _, g := range groups {
		if list := slices.DeleteFunc(slices.Clone(g.List), load.Position); len(list) > 0 {
			all = append(all, &ast.CommentGroup{List: list})
		}
	}
	return all
}

// twin returns the node of the text that corresponds to a node of the file.
func (t *printed) twin(was ast.Node) ast.Node {
	if i := slices.Index(t.was, was); i >= 0 {
		return t.now[i]
	}
	return nil
}

// cut returns the text between two offsets, with the edits that change returns. Where line numbers do not continue as in the file, it adds //line
// directives.
func (t *printed) cut(begin, end int, change func(was, now ast.Node) []edit) (string, bool) {
	var edits []edit
	var last token.Position // the file of the last directive, and the difference between line numbers in the file and in the text
	done := begin
	for i, n := range t.was {
		offset := t.at(t.now[i].Pos())
		if offset < done || offset >= end {
			continue
		}
		edits = append(edits, t.directive(n, i, begin, &last)...) // before change, so that it comes first at the same place
		changed := change(n, t.now[i])
		edits = append(edits, changed...)
		if _, ok := n.(*ast.RangeStmt); ok && len(changed) > 0 { // the whole loop is replaced, so the nodes in it are skipped
			last, done = token.Position{}, changed[0].to
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	for _, e := range edits {
		if e.from < begin {
			return "", false
		}
		b.WriteString(t.text[begin:e.from] + e.text)
		begin = e.to
	}
	return strings.TrimRight(strings.TrimLeft(b.String()+t.text[begin:end], "\n"), " \t\n"), true
}

// directive returns the //line directive in front of a statement that begins its line, if line numbers do not continue there as in the file.
func (t *printed) directive(n ast.Node, i, begin int, last *token.Position) []edit {
	if _, ok := n.(ast.Stmt); !ok {
		return nil
	}
	offset := t.at(t.now[i].Pos())
	line := strings.LastIndexByte(t.text[:offset], '\n') + 1
	if strings.TrimSpace(t.text[max(line, begin):offset]) != "" {
		return nil
	}
	source := t.p.Fset.Position(n.Pos())
	moved := token.Position{Filename: source.Filename, Line: source.Line - t.fset.Position(t.now[i].Pos()).Line}
	if moved == *last {
		return nil
	}
	*last = moved
	text := fmt.Sprintf("//line %s:%d\n", filepath.Base(source.Filename), source.Line)
	if line < begin {
		text = "\n" + text
	}
	return []edit{{max(line, begin), max(line, begin), text}}
}

// nodes returns the nodes of a body in the order of the text, without comments and without parentheses, some of which the printer
// drops.
func nodes(body *ast.BlockStmt) (all []ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.ParenExpr, *ast.EmptyStmt, *ast.Comment, *ast.CommentGroup:
		default:
			all = append(all, n)
		}
		return true
	})
	return all
}

// backHere stands before a line from which on lines have the numbers of the generated file again.
const backHere = "//line HERE"

// numbered replaces backHere by //line directives. The file is formatted already, so its line
// numbers are final.
func numbered(src []byte, name string) []byte {
	lines := bytes.Split(src, []byte("\n"))
	for i, l := range lines {
		if string(bytes.TrimSpace(l)) == backHere {
			lines[i] = fmt.Appendf(nil, "//line %s:%d", name, i+2)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}
