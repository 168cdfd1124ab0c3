// Package archtest checks which package of this module imports which. The rules are a table,
// [Rules]. [Read] collects the imports of the source files, for every build tag and
// system at once, and [Check] reports each import that the table does not allow.
//
// Test files are left out: a backend's tests may use the packages above the backend.
package archtest
