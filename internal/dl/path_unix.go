//go:build !windows

package dl

// Path returns the path of the library that has the function, "" if the system does not say.
func (p Proc) Path() string {
	find := Process().Proc("dladdr")
	if !p.Valid() || !find.Valid() {
		return ""
	}
	w := GetWords() // room for a Dl_info, whose first word points to the path
	defer w.Put()
	if int32(find.Call2(uintptr(p), w.At(0))) == 0 {
		return ""
	}
	return GoString(uintptr(w[0]))
}
