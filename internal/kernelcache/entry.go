package kernelcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"

	"github.com/go-halyard/halyard/hal/driver"
)

// Key names an entry.
type Key [sha256.Size]byte

// NewKey returns the hash of these parts, in this order. Parts are kept apart: "ab", "c" and "a", "bc" give different keys. The version of
// the format of entries is part of the hash, too.
func NewKey(parts ...string) Key {
	h := sha256.New()
	room := append(make([]byte, 0, 16), "halyard kernel"...)
	_, _ = h.Write(binary.LittleEndian.AppendUint16(room, schema)) // a hash returns no error
	for _, p := range parts {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(room[:0], uint64(len(p))))
		_, _ = io.WriteString(h, p)
	}
	return Key(h.Sum(nil))
}

// String returns the key in hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// name returns the file of the key: one of 256 folders, and the file in it.
func (k Key) name() (folder, file string) {
	s := k.String()
	return s[:2], s[2:]
}

// The names that the cache gives to folders, to entries and to entries that are being written. It leaves other files alone.
var (
	isFolder = regexp.MustCompile(`^[0-9a-f]{2}$`).MatchString
	isEntry  = regexp.MustCompile(`^[0-9a-f]{62}$`).MatchString
	isTemp   = regexp.MustCompile(`^[0-9a-f]{62}\..+\.tmp$`).MatchString
)

const tempSuffix = ".tmp"

// An entry begins with a header:
//
//	magic     8 bytes
//	schema    uint16
//	length    uint64, bytes after the header
//	checksum  32 bytes, SHA-256 of what follows
//
// After it come the length of a description (uint32), the description as JSON, and the data of the image. Numbers are little-endian. The
// description has the key, so that an entry in the file of another key is detected.
const (
	schema = 2
	magic  = "HALYKERN"

	lengthAt   = 8 + 2
	sumAt      = lengthAt + 8
	headerSize = sumAt + sha256.Size

	maxEntry = 1 << 30 // bytes; a longer file is damaged
)

// description is what an entry has besides the data of the image.
type description struct {
	Key     string
	Format  driver.Format
	Options []byte // not a string, which JSON would change if it were not UTF-8
	Params  map[string][]driver.Param
}

// encode returns the entry of an image.
func encode(key Key, img *driver.Image) []byte {
	text, _ := json.Marshal(description{key.String(), img.Format, []byte(img.Options), img.Params}) // cannot fail: all types can be encoded
	b := make([]byte, headerSize, headerSize+4+len(text)+len(img.Data))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = append(append(b, text...), img.Data...)
	seal(b)
	return b
}

// seal writes the header of an entry.
func seal(b []byte) {
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[len(magic):], schema)
	binary.LittleEndian.PutUint64(b[lengthAt:], uint64(len(b)-headerSize))
	sum := sha256.Sum256(b[headerSize:])
	copy(b[sumAt:], sum[:])
}

// plausible reports whether the header can be that of an entry of size bytes. It does not look at the checksum.
func plausible(header []byte, size int64) bool {
	return size <= maxEntry && len(header) == headerSize && string(header[:len(magic)]) == magic &&
		binary.LittleEndian.Uint16(header[len(magic):]) == schema &&
		binary.LittleEndian.Uint64(header[lengthAt:]) == uint64(size-headerSize)
}

// decode returns the image of an entry, whose data is a part of b, or nil if b is not an undamaged entry of that key.
func decode(key Key, b []byte) *driver.Image {
	if len(b) < headerSize+4 || !plausible(b[:headerSize], int64(len(b))) {
		return nil
	}
	if sum := sha256.Sum256(b[headerSize:]); !bytes.Equal(sum[:], b[sumAt:headerSize]) {
		return nil
	}
	n, rest := uint64(binary.LittleEndian.Uint32(b[headerSize:])), b[headerSize+4:]
	var d description
	if n > uint64(len(rest)) || json.Unmarshal(rest[:n], &d) != nil || d.Key != key.String() {
		return nil
	}
	data := rest[n:]
	return &driver.Image{Format: d.Format, Options: string(d.Options), Params: d.Params, Data: data[:len(data):len(data)]}
}
