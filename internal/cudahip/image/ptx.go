package image

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-halyard/halyard/hal/driver"
)

// readPTX reads the declarations of PTX text ("PTX ISA", sections "Kernel and Function Directives" and "Kernel
// Function Parameters"). The code of kernels is skipped. Text ends at a zero byte, as it does for the driver.
func readPTX(data []byte) (found, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		data = data[:i]
	}
	p := &ptxReader{text: data, line: 1, kernels: found{}}
	p.next()
	if err := p.module(); err != nil {
		return nil, err
	}
	return p.kernels, nil
}

// ptxReader reads PTX text token by token.
type ptxReader struct {
	text  []byte
	at    int    // the position after the token
	line  int    // of the token
	token string // a word or directive, a quoted text, one other character, or "" at the end

	version string // of the language: "8.8"
	kernels found
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '%' || c == '.'
}

// next moves to the next token.
func (p *ptxReader) next() {
	p.skipSpace()
	start := p.at
	if start == len(p.text) {
		p.token = ""
		return
	}
	p.at++
	switch c := p.text[start]; {
	case wordByte(c):
		for p.at < len(p.text) && wordByte(p.text[p.at]) {
			p.at++
		}
	case c == '"':
		for p.at < len(p.text) && p.text[p.at] != '"' && p.text[p.at] != '\n' {
			if p.text[p.at] == '\\' && p.at+1 < len(p.text) && p.text[p.at+1] != '\n' {
				p.at++
			}
			p.at++
		}
		if p.at < len(p.text) && p.text[p.at] == '"' {
			p.at++
		}
	}
	p.token = string(p.text[start:p.at])
}

// skipSpace skips white space and comments.
func (p *ptxReader) skipSpace() {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\v' || rest[0] == '\f':
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			if i := bytes.IndexByte(rest, '\n'); i >= 0 {
				p.at += i
			} else {
				p.at = len(p.text)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			n := len(rest)
			if i := bytes.Index(rest[2:], []byte("*/")); i >= 0 {
				n = 2 + i + 2
			}
			p.line += bytes.Count(rest[:n], []byte("\n"))
			p.at += n
		default:
			return
		}
	}
}

func (p *ptxReader) damaged(format string, args ...any) error {
	return damaged("PTX", "line "+strconv.Itoa(p.line)+": "+format, args...)
}

// module reads the whole text.
func (p *ptxReader) module() error {
	declared := false // the directives so far say that the next kernel is defined elsewhere
	for p.token != "" {
		switch p.token {
		case ".version":
			p.next()
			p.version = p.token
		case ".extern":
			declared = true
		case ".entry":
			if err := p.entry(declared); err != nil {
				return err
			}
			declared = false
			continue
		case "{":
			if err := p.block(); err != nil {
				return err
			}
			declared = false
			continue
		case "}":
			return p.damaged("there is a closing brace without an opening one")
		case ";":
			declared = false
		}
		p.next()
	}
	if p.version == "" {
		return damaged("PTX", "it has no .version")
	}
	return nil
}

// block skips the text from an opening brace up to and including the closing one.
func (p *ptxReader) block() error {
	for depth := 0; ; p.next() {
		switch p.token {
		case "":
			return p.damaged("the text ends within braces")
		case "{":
			depth++
		case "}":
			if depth--; depth == 0 {
				p.next()
				return nil
			}
		}
	}
}

// entry reads a kernel. A kernel without code is a declaration.
func (p *ptxReader) entry(declared bool) error {
	p.next()
	k := &driver.KernelInfo{Name: p.token, Known: true}
	if k.Name == "" || !wordByte(k.Name[0]) || k.Name[0] == '.' {
		return p.damaged("there is a kernel without a name")
	}
	p.next()
	if p.token == "(" {
		p.next()
		for p.token != ")" {
			param, err := p.param()
			if err != nil {
				return err
			}
			if param.Name == k.Name+"_param_"+strconv.Itoa(len(k.Params)) {
				param.Name = "" // compilers do not keep the name
			}
			k.Params = append(k.Params, param)
			if p.token == "," {
				p.next()
			} else if p.token != ")" {
				return p.damaged("parameter %d of kernel %s is followed by %q", len(k.Params)-1, k.Name, p.token)
			}
		}
		p.next()
	}
	for {
		switch p.token {
		case "":
			return p.damaged("the text ends within kernel %s", k.Name)
		case ";":
			p.next()
			return nil
		case "{":
			if !declared {
				p.kernels[k.Name] = k
			}
			return p.block()
		case ".reqntid":
			shape, err := p.shape()
			if err != nil {
				return err
			}
			k.RequiredBlock = shape
			limit(k, shape)
		case ".maxntid":
			shape, err := p.shape()
			if err != nil {
				return err
			}
			limit(k, shape)
		default:
			p.next()
		}
	}
}

// shape reads up to three numbers of threads. Numbers that are left out are 1.
func (p *ptxReader) shape() (shape [3]uint32, err error) {
	directive := p.token
	shape = [3]uint32{1, 1, 1}
	for i := range shape {
		p.next()
		n, err := strconv.ParseUint(p.token, 0, 32)
		if err != nil || n == 0 {
			return shape, p.damaged("%s has %q for a number of threads", directive, p.token)
		}
		shape[i] = uint32(n)
		if p.next(); p.token != "," {
			break
		}
	}
	return shape, nil
}

// limit sets the largest number of threads in a block to that of a shape.
func limit(k *driver.KernelInfo, shape [3]uint32) {
	threads := uint64(1)
	for _, n := range shape {
		threads = min(threads*uint64(n), math.MaxUint32)
	}
	k.MaxThreads = uint32(threads)
}

// ptxSizes are the sizes of the types of parameters, in bytes.
var ptxSizes = map[string]uint32{".u8": 1, ".s8": 1, ".b8": 1, ".u16": 2, ".s16": 2, ".b16": 2, ".f16": 2, ".bf16": 2,
	".u32": 4, ".s32": 4, ".b32": 4, ".f32": 4, ".f16x2": 4, ".bf16x2": 4, ".u64": 8, ".s64": 8, ".b64": 8, ".f64": 8, ".b128": 16}

// maxParam is far larger than any parameter, in bytes.
const maxParam = 1 << 20

// param reads one parameter. It skips words that it does not know. If it does not know the type,
// the size is 0.
func (p *ptxReader) param() (param driver.Param, err error) {
	if p.token != ".param" {
		return param, p.damaged("%q in place of a parameter", p.token)
	}
	pointer, number, count := false, false, uint64(1)
	for p.next(); ; p.next() {
		switch t := p.token; {
		case t == "" || t == "(" || t == "{" || t == ";":
			return param, p.damaged("%q within a parameter", t)
		case t == "," || t == ")":
			switch size := uint64(param.Size) * count; {
			case size > maxParam:
				return param, p.damaged("there is a parameter of %d bytes", size)
			case pointer:
				param.Kind, param.Size = driver.ParamPointer, uint32(size)
			default:
				param.Size = uint32(size)
				// A parameter of 8 bytes may be a structure that contains only a pointer.
				if number || size != 0 && size != 8 {
					param.Kind = driver.ParamValue
				}
			}
			return param, nil
		case t == "[":
			p.next()
			n, err := strconv.ParseUint(p.token, 0, 32)
			if err != nil || n > maxParam || count*n > maxParam {
				return param, p.damaged("%q for the length of a parameter", p.token)
			}
			count *= n
			if p.next(); p.token != "]" {
				return param, p.damaged("%q in place of a closing bracket", p.token)
			}
		case t == ".ptr":
			pointer = true
		case t == ".align":
			p.next() // the number
		case t[0] != '.' && wordByte(t[0]):
			param.Name = t
		default:
			if size, ok := ptxSizes[t]; ok {
				param.Size, number = size, t == ".f64"
			}
		}
	}
}
