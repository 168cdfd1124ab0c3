package image

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// The declarations of PTX ("PTX ISA", sections "Kernel and Function Directives" and "Kernel Function Parameters") that this package reads.
var (
	// ptxEntry is a kernel: its name, its parameters, the directives behind them, and the beginning of its code, or a semicolon if it is
	// only declared.
	ptxEntry = regexp.MustCompile(`\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?([^{};]*)([{;])`)
	ptxShape = regexp.MustCompile(`\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?`)
	ptxParam = regexp.MustCompile(`(?s)^\.param\s.*?\.(bf|[usbf])(\d+)(x2)?\s(?:.*\s)?([\w$%]+)\s*((?:\[\s*\d+\s*\]\s*)*)$`)
	ptxCount = regexp.MustCompile(`\d+`)
	ptxAlign = regexp.MustCompile(`\.align\s+\d+`)
)

// readPTX reads the kernels of PTX text. It reports no errors, because the driver's own are better. Text ends at a zero byte, as it does
// for the driver.
func readPTX(data []byte) found {
	text, _, _ := bytes.Cut(data, []byte{0})
	kernels := found{}
	for _, m := range ptxEntry.FindAllSubmatch(withoutComments(text), -1) {
		if string(m[4]) == ";" {
			continue
		}
		k := &driver.KernelInfo{Name: string(m[1]), Known: true}
		for i, p := range strings.Split(strings.TrimSpace(string(m[2])), ",") {
			if p = strings.TrimSpace(p); p != "" {
				k.Params = append(k.Params, ptxParameter(p, k.Name+"_param_"+strconv.Itoa(i)))
			}
		}
		if s := ptxShape.FindSubmatch(m[3]); s != nil {
			for i := range k.RequiredBlock {
				n, err := strconv.ParseUint(string(s[i+1]), 10, 32)
				if err != nil { // it is left out
					n = 1
				}
				k.RequiredBlock[i] = uint32(n)
			}
		}
		kernels[k.Name] = k
	}
	return kernels
}

// maxParam is far larger than any parameter, in bytes.
const maxParam = 1 << 20

// ptxParameter reads one parameter. The size of a type that it does not know is 0. Compilers do not keep the names of parameters: one with
// the name that unnamed has gets no name here.
func ptxParameter(text, unnamed string) (p driver.Param) {
	m := ptxParam.FindStringSubmatch(ptxAlign.ReplaceAllString(text, ""))
	if m == nil {
		p.Name = text[strings.LastIndexAny(text, " \t\n")+1:]
	} else {
		bits, _ := strconv.ParseUint(m[2], 10, 16)
		size := bits / 8
		if m[3] != "" {
			size *= 2
		}
		for _, n := range ptxCount.FindAllString(m[5], -1) {
			count, err := strconv.ParseUint(n, 10, 32)
			if err != nil || count*size > maxParam {
				size = 0
				break
			}
			size *= count
		}
		switch p.Name, p.Size = m[4], uint32(size); {
		case strings.Contains(text, ".ptr"):
			p.Kind = driver.ParamPointer
		case size != 0 && size != 8 || m[1] == "f" && bits == 64: // another one of 8 bytes may be a structure that contains only a pointer
			p.Kind = driver.ParamValue
		}
	}
	if p.Name == unnamed {
		p.Name = ""
	}
	return p
}

// withoutComments returns the text with a space in the place of each comment and each quoted text.
func withoutComments(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := 1
		switch {
		case bytes.HasPrefix(text, []byte("//")):
			n = end(text, 2, "\n")
		case bytes.HasPrefix(text, []byte("/*")):
			n = end(text, 2, "*/")
		case text[0] == '"':
			for n < len(text) && text[n] != '"' && text[n] != '\n' {
				if text[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(text))
		default:
			if i := bytes.IndexAny(text[1:], "/\""); i >= 0 {
				n = 1 + i
			} else {
				n = len(text)
			}
			out = append(out, text[:n]...)
			text = text[n:]
			continue
		}
		out = append(out, ' ')
		text = text[n:]
	}
	return out
}

// end returns the index behind the first mark that begins at from or later, or the length of the text if there is none.
func end(text []byte, from int, mark string) int {
	if i := bytes.Index(text[from:], []byte(mark)); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}
