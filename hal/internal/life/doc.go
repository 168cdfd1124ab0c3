// Package life has the life of an object of package hal, from the call that makes it to the vendor's call that gives it back.
//
// # One life
//
//	made        [Holder.Admit] counts it, puts it on the list of the device handle that it was made through, and watches for its leak
//	used        each call stands between Enter and Leave of its [Handle]; work that goes on after the call is noted in [Uses]
//	closed      [Object.Close] refuses further calls, takes the object off the list, and never waits
//	unused      no call is under way, and the work in Uses is over: found out at Close or by the last Leave, else by the [Reaper]
//	given back  [Vendored.GiveBack] makes the vendor's call, exactly once; then [Object.Then], a function of the program, is called
//
// An object that the program loses without Close takes the same way: its [Lookout] reports the leak, closes it and leaves it to the reaper.
// The runtime's cleanup goroutine makes no vendor's call, nor does a callback of the vendor's.
//
// # Who owns what
//
// An [Owner] is a device: its account of open handles, of objects on them, and of objects that are closed but not yet given back. A
// [Holder] is one of the program's handles on the device. A handle with open objects does not close. With the last handle the device
// closes: it waits for calls under way and until every object has been given back.
//
// # What may block
//
// Some drivers' frees wait for other work of the device. [Object.MayBlock] marks objects with such a free. They are given back only when
// [Frees.Begin] allows it; the page at the head of package wait says why. A free that must not begin now is left to the reaper, which asks
// again and again instead of waiting.
//
// The package knows streams only as a [User], memory only as an [Object], and no driver.
package life
