// Package archtest holds the direction of imports inside this module: which package may
// know which. The rules are a table, [Rules]; [Check] reads the source files, for every build tag and
// system at once, and reports each import that the table does not allow.
//
// Files of tests are not looked at: a backend's tests may well drive it through the
// packages above it.
package archtest
