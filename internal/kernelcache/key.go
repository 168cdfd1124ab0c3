package kernelcache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
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
	return s[:folderDigits], s[folderDigits:]
}

const (
	folderDigits = 2
	fileDigits   = 2*sha256.Size - folderDigits
	tempSuffix   = ".tmp"
)

// isFolder reports whether the cache makes folders of that name.
func isFolder(name string) bool { return len(name) == folderDigits && isHex(name) }

// isEntry reports whether the cache gives that name to entries.
func isEntry(name string) bool { return len(name) == fileDigits && isHex(name) }

// isTemp reports whether the cache gives that name to entries that are being written.
func isTemp(name string) bool {
	return len(name) > fileDigits+len(tempSuffix) && isHex(name[:fileDigits]) && name[fileDigits] == '.' &&
		name[len(name)-len(tempSuffix):] == tempSuffix
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
