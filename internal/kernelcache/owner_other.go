//go:build !unix

package kernelcache

import "io/fs"

// unsafeFolder returns "": on other systems a folder's mode does not say who can write to it.
func unsafeFolder(fs.FileInfo) string { return "" }

func foreignLink(fs.FileInfo) string { return "" }
