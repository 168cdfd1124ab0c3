//go:build !unix && !windows

package kernelcache

import "io/fs"

func unsafeFolder(fs.FileInfo) string { return "" }

func foreignLink(fs.FileInfo) string { return "" }

func retry(fn func() error) error { return fn() }
