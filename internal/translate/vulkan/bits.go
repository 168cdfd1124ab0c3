package vulkan

// High returns the upper 64 bits of the product of x and y.
func High(x, y uint64) uint64 {
	a, b, c, d := x>>32, x&0xffffffff, y>>32, y&0xffffffff
	m := a*d + b*d>>32
	n := m&0xffffffff + b*c
	return a*c + m>>32 + n>>32
}

// Len is bits.Len64.
func Len(x uint64) (n int) {
	for s := uint64(32); s > 0; s >>= 1 {
		if x>>(s&63) != 0 {
			x >>= s & 63
			n += int(s)
		}
	}
	return n + int(x)
}

// OnesCount is bits.OnesCount64.
func OnesCount(x uint64) (n int) {
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}

// TrailingZeros is bits.TrailingZeros for a number of n bits.
func TrailingZeros(x uint64, n int) int {
	if x != 0 {
		n = OnesCount(x&-x - 1)
	}
	return n
}

// Reverse is bits.Reverse for a number of n bits.
func Reverse(x uint64, n int) (y uint64) {
	for i := 0; i < n; i++ {
		y = y<<1 | x>>(uint64(i)&63)&1
	}
	return y
}

// ReverseBytes is bits.ReverseBytes for a number of n bits.
func ReverseBytes(x uint64, n int) (y uint64) {
	for i := 0; i < n; i += 8 {
		y = y<<8 | x>>(uint64(i)&63)&255
	}
	return y
}
