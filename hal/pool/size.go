package pool

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

// units of ParseSize, in bytes.
var units = map[string]uint64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15, "eb": 1e18,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50, "eib": 1 << 60,
}

// ParseSize reads a number of bytes: "4096", "512 B", "1.5GiB", "200 MB". KiB, MiB and so on are powers of
// 1024, kB, MB and so on powers of 1000, in upper or lower case; fractions of a byte are dropped. The error is of kind
// hal.ErrInvalidArgument for text that is not a size, and hal.ErrOutOfRange for a size that does not fit in 64
// bits.
func ParseSize(text string) (uint64, error) {
	const op = "parse size"
	s := strings.TrimSpace(text)
	end := strings.LastIndexAny(s, "0123456789.") + 1
	number, name := s[:end], strings.ToLower(strings.TrimSpace(s[end:]))
	unit, known := units[name]
	switch {
	case !known:
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "%q: %q is not a unit; use B, KiB, MiB, GiB, TiB, kB, MB, GB or TB", text, name)
	case strings.Trim(number, "0123456789.") != "":
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "%q is not a size", text)
	}
	const longest = 64 // digits; no size needs as many
	if len(number) > longest {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "%q has too many digits", text)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "%q is not a size", text)
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).SetUint64(unit)))
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	if !whole.IsUint64() {
		return 0, hal.Errorf(op, hal.ErrOutOfRange, "%q does not fit in 64 bits", text)
	}
	return whole.Uint64(), nil
}

// FormatSize writes a number of bytes in the largest unit that is not larger than it, with up to two
// digits after the point: "1.50 GiB", "17 B".
func FormatSize(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	i, unit := 0, uint64(1<<10)
	for ; i < 5 && n/unit >= 1<<10; i++ {
		unit <<= 10
	}
	name := "KMGTPE"[i : i+1]
	if n%unit == 0 {
		return fmt.Sprintf("%d %siB", n/unit, name)
	}
	return fmt.Sprintf("%.2f %siB", float64(n)/float64(unit), name)
}
