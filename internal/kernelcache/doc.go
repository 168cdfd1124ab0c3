// Package kernelcache keeps compiled kernels on disk, so that a program compiles each of them once and not at each start.
//
// An entry is a file of its own. Its name is its [Key], a hash of everything that the result of the compiler depends on; the caller must
// put all of that into the key. An entry is read whole, and its checksum is compared, before it is used: a damaged entry is removed, and
// counts as absent. Nothing is promised about how long an entry stays: any file, and the whole folder, may be deleted at any time.
//
// Processes share a folder without locks. An entry is written under another name, and renamed when it is complete; two processes that make
// the same entry at once both write it, and both files are right. The folder's size is bounded: when all entries together become too large,
// those that have not been used for longest are deleted.
//
// Code from the cache runs on the device with the rights of the program, so the folder must be the user's own: on Unix a folder that
// belongs to another user, or that everybody can write to, is refused. A checksum detects accidents. It does not detect a forged entry.
package kernelcache
