// Package syntax compares Go declarations apart from their comments and their formatting, so that a generated file can say from which
// declarations it was made.
package syntax

import (
	"fmt"
	"go/scanner"
	"go/token"
	"hash/fnv"
	"strconv"
	"strings"
)

// Format is the version of the files that the command "halyard kernels" writes. It changes when programs compile with files of an earlier one, and could
// run wrong with them.
const Format = 3

type word struct {
	kind token.Token
	text string
}

// Sums returns a hash of each declaration at the top of a Go file, by its name: "saxpy", or "Frame.Area" for a method. The constants of
// one pair of parentheses depend on each other, by iota, so what is declared together has one hash. Each import has a hash of its own,
// by "import:" and its path, and so has a line "//halyard:kernel fast" before the package clause, by "halyard:kernel". The file need not be valid Go.
//
// Generated files have these hashes, also in modules whose files nobody generates again: the hash of a declaration must never change.
func Sums(src []byte) map[string]string {
	sums := map[string]string{}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, scanner.ScanComments)
	var decl, mark []word // mark has what follows //halyard:kernel in its line
	for depth := 0; ; {
		_, kind, text := s.Scan()
		switch kind {
		case token.COMMENT:
			if list, ok := strings.CutPrefix(text, "//halyard:kernel"); ok && depth == 0 && strings.TrimSpace(list) != "" {
				mark = []word{{kind, strings.Join(strings.Fields(list), " ")}}
			}
			continue
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
			if n := len(decl); n > 0 && (decl[n-1].kind == token.COMMA || decl[n-1].kind == token.SEMICOLON) {
				decl = decl[:n-1] // it is there if the closing bracket has its own line
			}
		case token.SEMICOLON:
			text = "" // else ";" or "\n"
		}
		if kind != token.EOF && (kind != token.SEMICOLON || depth > 0) {
			decl = append(decl, word{kind, text})
			continue
		}
		for _, name := range names(decl) {
			sums[name] = sum(append(decl, mark...))
		}
		if len(mark) > 0 && len(decl) > 0 && decl[0].kind == token.PACKAGE {
			sums["halyard:kernel"] = sum(mark)
		}
		for _, spec := range imports(decl) {
			if path, err := strconv.Unquote(spec[len(spec)-1].text); err == nil {
				sums["import:"+path] = sum(spec)
			}
		}
		if kind == token.EOF {
			return sums
		}
		decl, mark = decl[:0], nil
	}
}

// Head returns the name in a Go file's package clause, "" if it is not a part of any build: if it has a line "//go:build ignore" before.
func Head(src []byte) string {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, scanner.ScanComments)
	for {
		switch _, kind, text := s.Scan(); kind {
		case token.COMMENT:
			if strings.TrimSpace(text) == "//go:build ignore" {
				return ""
			}
		case token.PACKAGE:
			_, _, name := s.Scan()
			return name
		default:
			return ""
		}
	}
}

func sum(decl []word) string {
	h := fnv.New64a()
	for _, w := range decl {
		fmt.Fprintf(h, "%s %q ", w.kind, w.text)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// imports returns the imports of a declaration: each is the name, if there is one, and the path.
func imports(decl []word) (found [][]word) {
	if len(decl) == 0 || decl[0].kind != token.IMPORT {
		return nil
	}
	begin := 1
	for i, w := range decl {
		switch w.kind {
		case token.LPAREN, token.SEMICOLON:
			begin = i + 1
		case token.STRING:
			found = append(found, decl[begin:i+1])
		}
	}
	return found
}

// names returns what a declaration declares.
func names(decl []word) (found []string) {
	if len(decl) < 2 {
		return nil
	}
	switch decl[0].kind {
	case token.FUNC:
		if decl[1].kind == token.IDENT {
			return []string{decl[1].text}
		}
		return method(decl)
	case token.CONST, token.TYPE, token.VAR:
		list, depth := decl[1:], 0
		grouped := list[0].kind == token.LPAREN
		if grouped {
			list = list[1:]
		}
		begins, named := true, false // the next word may be a name; the last one was
		for _, w := range list {
			switch w.kind {
			case token.LPAREN, token.LBRACK, token.LBRACE:
				depth++
			case token.RPAREN, token.RBRACK, token.RBRACE:
				depth--
			}
			next := named && w.kind == token.COMMA || grouped && depth == 0 && w.kind == token.SEMICOLON
			begins, named = next, begins && w.kind == token.IDENT
			if named {
				found = append(found, w.text)
			}
		}
	}
	return found
}

// method returns the name of a method, with its type: func (v *Vector[T]) Add.
func method(decl []word) []string {
	depth, receiver := 0, ""
	for i, w := range decl[1:] {
		switch w.kind {
		case token.LPAREN, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACK:
			depth--
		case token.IDENT:
			if depth == 1 {
				receiver = w.text // the last one, behind the receiver's name
			}
		}
		if depth == 0 {
			if next := decl[1:][i+1:]; len(next) > 0 && next[0].kind == token.IDENT {
				return []string{receiver + "." + next[0].text}
			}
			break
		}
	}
	return nil
}
