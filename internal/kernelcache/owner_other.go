//go:build !unix

package kernelcache

import "io/fs"

// Elsewhere a folder's mode does not say who can write to it.
func unsafeFolder(fs.FileInfo) string { return "" }

func foreignLink(fs.FileInfo) string { return "" }
