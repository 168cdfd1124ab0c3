package spirv

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Text returns a module in the form of spirv-dis, with numbers for the names of constants.
func Text(words []uint32) string {
	var b strings.Builder
	for i := 5; i < len(words); {
		n, op := int(words[i]>>16), Op(words[i])
		if n == 0 || i+n > len(words) {
			break
		}
		args := words[i+1 : i+n]
		i += n
		result, list := "", ""
		kinds, special := operands[op]
		if !special {
			kinds = "trI"
		}
		for len(args) > 0 && kinds != "" {
			switch kinds[0] {
			case 'r':
				result = fmt.Sprintf("%%%d = ", args[0])
			case 't', 'i', 'I':
				list += fmt.Sprintf(" %%%d", args[0])
			case 'l', 'L':
				list += fmt.Sprintf(" %d", args[0])
			case 's':
				var s []byte
				for ; len(args) > 0; args = args[1:] {
					s = binary.LittleEndian.AppendUint32(s, args[0])
					if s[len(s)-1] == 0 {
						break
					}
				}
				list += fmt.Sprintf(" %q", strings.TrimRight(string(s), "\x00"))
			}
			if len(args) > 0 {
				args = args[1:]
			}
			if kinds[0] >= 'a' {
				kinds = kinds[1:]
			}
		}
		fmt.Fprintf(&b, "%sOp%s%s\n", result, names[op], list)
	}
	return b.String()
}

// Pack returns a module as text for a Go file. Most words are small, so they take one byte or two before base64.
func Pack(words []uint32) string {
	b := binary.AppendUvarint(nil, uint64(words[3])) // the rest of the header is the same in all modules
	for i := 5; i < len(words); {
		n := int(words[i] >> 16)
		b = binary.AppendUvarint(b, uint64(words[i]&0xffff))
		b = binary.AppendUvarint(b, uint64(n))
		for _, w := range words[i+1 : i+n] {
			b = binary.AppendUvarint(b, uint64(w))
		}
		i += n
	}
	packed := base64.StdEncoding.EncodeToString(b)
	var lines strings.Builder
	for at, width := 0, 120; at < len(packed); at += width {
		lines.WriteString(packed[at:min(at+width, len(packed))] + "\n")
	}
	return lines.String()
}

// Unpack returns the bytes of a module that was packed, as a device loads them.
func Unpack(packed string) ([]byte, error) {
	damaged := errors.New("the text is no packed module")
	b, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, damaged
	}
	next := func() (v uint32) {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			err = damaged
			return 0
		}
		b = b[n:]
		return uint32(x)
	}
	var out []byte
	for _, w := range []uint32{0x07230203, 0x00010500, 0, next(), 0} {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	for len(b) > 0 && err == nil {
		op, n := next(), next()
		out = binary.LittleEndian.AppendUint32(out, n<<16|op)
		for ; n > 1 && err == nil; n-- {
			out = binary.LittleEndian.AppendUint32(out, next())
		}
	}
	return out, err
}
