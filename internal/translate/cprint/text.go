package cprint

import "strings"

// text is the C text of an expression.
type text struct {
	c     string
	level int
	op    string // the operator of a binary operation, or "!"
	deep  int    // how deeply a compiler nests it; a pair of parentheses counts 8
}

// How strongly operators bind.
const (
	logical = iota
	bitwise
	equality
	relational
	shifts
	additive
	product
	unary
	postfix
)

// deepest is how deep an expression may be. Clang accepts 256 nested brackets, such as parentheses. A macro puts up to six around its operand.
const (
	bracket = 8
	macro   = 6 * bracket
	deepest = 100 * bracket
)

func atom(c string) text { return text{c: c, level: postfix} }

// in returns the text as an operand of an operator that binds as strongly as level.
func (t text) in(level int) text {
	if t.level >= level {
		return t
	}
	return text{c: "(" + t.c + ")", level: postfix, deep: t.deep + bracket}
}

func cast(c string, x text) text {
	x = x.in(unary)
	return text{c: "(" + c + ")" + x.c, level: unary, deep: x.deep + 1}
}

// called returns a call, or the use of a macro.
func called(name string, args ...text) text {
	var all []string
	deep := 0
	for _, a := range args {
		all, deep = append(all, a.c), max(deep, a.deep)
	}
	deep += bracket
	if strings.HasPrefix(name, "GO_") {
		deep += macro
	}
	return text{c: name + "(" + strings.Join(all, ", ") + ")", level: postfix, deep: deep}
}

// binary returns an operation. It adds parentheses where compilers warn about operators without them.
func binary(op string, level int, x, y text) text {
	least := level + 1
	switch level {
	case shifts, bitwise:
		least = unary
	case logical:
		least = equality
	case equality, relational:
		least = additive
	}
	y = y.in(least)
	switch {
	case (level == equality || level == relational) && x.op == "!":
		x = x.in(postfix)
	case x.level != level || level < additive && (x.op != op || level > bitwise):
		x = x.in(least)
	}
	return text{x.c + " " + op + " " + y.c, level, op, max(x.deep, y.deep) + 1}
}
