// Package pages has memory of the system's in whole pages, outside the Go heap. On Linux pages can be made inaccessible.
package pages

import "os"

// Access says how pages can be accessed.
type Access uint8

const (
	None Access = iota
	Read
	Write // and read
)

// Size is the size of a page in bytes.
var Size = os.Getpagesize()

// Up returns n, rounded up to whole pages.
func Up(n int) int { return (n + Size - 1) / Size * Size }
