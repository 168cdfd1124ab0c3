package main

var ofEvent = []mutant{
	// Events.
	{
		name: "NewEvent: a failure is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"event.go", `d.card.lib.call("markCreate")); err != nil`, `d.card.lib.call("markCreate")); false && err != nil`},
		},
	},
	{
		name: "NewEvent: a goroutine for each event", by: "Lifetime/IdleStreamsTakeNoGoroutine",
		edits: []edit{
			{"event.go", "\treturn &event{dev: d}, nil", "\tgo func() { select {} }()\n\treturn &event{dev: d}, nil"},
		},
	},
	{
		name: "Query event: always done", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"event.go", "\t\treturn false, nil\n\tdefault:", "\t\treturn true, nil\n\tdefault:"},
		},
	},
	{
		name: "Query event: never done", by: "Bounds/FailedCallHasNoEffect", hangs: true,
		edits: []edit{
			{"event.go", "\t\treturn true, p.failure.tell()\n", "\t\treturn false, nil\n"},
		},
	},
	{
		name: "Query event: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"event.go", "\t\treturn true, p.failure.tell()\n", "\t\treturn true, nil\n"},
		},
	},
	{
		name: "Query event: a failure is not done", by: "Errors/FailureUnderWayIsTold", hangs: true,
		edits: []edit{
			{"event.go", "\t\treturn true, p.failure.tell()\n", "\t\treturn p.failure == nil, nil\n"},
		},
	},
	{
		name: "Query event: waits", by: "StreamOrder/SyncHonoursContext", hangs: true,
		edits: []edit{
			{"event.go", "\tcase !p.reached():\n\t\treturn false, nil\n\tdefault:\n\t\treturn true", "\tdefault:\n\t\t<-p.done\n\t\treturn true"},
		},
	},
	{
		name: "Query event: a failure is returned once", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"event.go",
				"\t\treturn true, p.failure.tell()\n",
				"\t\tif p.failure != nil && p.failure.told.Load() {\n" +
					"\t\t\treturn true, nil\n" +
					"\t\t}\n" +
					"\t\treturn true, p.failure.tell()\n"},
		},
	},
	{
		name: "Sync event: returns at once", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"event.go", "\t<-p.done\n\treturn p.failure.tell()", "\tif !p.reached() {\n\t\treturn nil\n\t}\n\treturn p.failure.tell()"},
		},
	},
	{
		name: "Sync event: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"event.go", "\t<-p.done\n\treturn p.failure.tell()", "\t<-p.done\n\treturn nil"},
		},
	},
	{
		name:   "Sync event: a failure is returned once",
		missed: "no check waits in an event's Sync for a failure that a stream has told before",
		edits: []edit{
			{"event.go",
				"\t<-p.done\n" +
					"\treturn p.failure.tell()",
				"\t<-p.done\n" +
					"\tif p.failure != nil && p.failure.told.Load() {\n" +
					"\t\treturn nil\n" +
					"\t}\n" +
					"\treturn p.failure.tell()"},
		},
	},
	{
		name:       "events: a failure of earlier work is left out",
		equivalent: "without EventsKeepFailures an event need not report more than how the last work before it has ended",
		edits: []edit{
			{"stream.go",
				"\t\t\ts.carried = &failure{err: err}\n",
				"\t\t\ts.carried = &failure{err: err}\n" +
					"\t\t} else {\n" +
					"\t\t\ts.carried = nil\n" +
					"\t\t}\n" +
					"\t\tif err != nil {\n"},
		},
	},
	{
		name: "events: a failure that was told is told by later events", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go", "\tif s.carried != nil && s.carried.told.Load() {\n\t\ts.carried = nil\n\t}\n", ""},
		},
	},
	{
		name: "Elapsed: negative", by: "Events/ElapsedNonNegative",
		edits: []edit{
			{"event.go", "return to.at.Sub(from.at), nil", "return from.at.Sub(to.at), nil"},
		},
	},
	{
		name: "Elapsed: in another unit", by: "Events/ElapsedWithinWallTime",
		edits: []edit{
			{"event.go", "return to.at.Sub(from.at), nil", "return 1000 * to.at.Sub(from.at), nil"},
		},
	},
	{
		name: "Elapsed: zero", by: "Events/ElapsedWithinWallTime",
		edits: []edit{
			{"event.go", "return to.at.Sub(from.at), nil", "return 0, nil"},
		},
	},
	{
		name: "Elapsed: microseconds for nanoseconds", by: "Events/ElapsedWithinWallTime",
		edits: []edit{
			{"event.go", "return to.at.Sub(from.at), nil", "return to.at.Sub(from.at) / 1000, nil"},
		},
	},
	{
		name: "Elapsed: of an event that is not done", by: "Events/ElapsedPendingNotReady",
		edits: []edit{
			{"event.go", "if !to.reached() || !from.reached() {", "if false {"},
		},
	},
	{
		name: "Elapsed: of an event that is not done, to one that is", by: "Events/ElapsedPendingNotReady",
		edits: []edit{
			{"event.go", "if !to.reached() || !from.reached() {", "if !to.reached() {"},
		},
	},
	{
		name: "Elapsed: wrong kind of error", by: "Events/ElapsedPendingNotReady",
		edits: []edit{
			{"event.go", `driver.ErrNotReady, "an event`, `driver.ErrBusy, "an event`},
		},
	},
	{
		name: "Elapsed: waits", by: "Events/ElapsedPendingNotReady", hangs: true,
		edits: []edit{
			{"event.go", "\tif !to.reached() || !from.reached() {", "\t<-to.done\n\t<-from.done\n\tif !to.reached() || !from.reached() {"},
		},
	},
	{
		name: "Elapsed: from the time of the call", by: "Events/ElapsedNonNegative",
		edits: []edit{
			{"event.go", "return to.at.Sub(from.at), nil", "return time.Since(from.at), nil"},
		},
	},

	// Gates and callbacks.
	{
		name: "Gate: open from the start", by: "StreamOrder/SyncHonoursContext",
		edits: []edit{
			{"gate.go", "func() error { <-g; return nil }", "func() error { return nil }"},
		},
	},
	{
		name: "Gate: never opened", by: "Copy/ThroughHostInOrder", hangs: true,
		edits: []edit{
			{"gate.go", "\tclose(g)\n", ""},
		},
	},
	{
		name: "Gate: holds up earlier work", by: "StreamOrder/GateHoldsWork",
		edits: []edit{
			{"gate.go",
				"\treturn g, s.enqueue(\"gate\", func() error { <-g; return nil })",
				"\ts.mu.Lock()\n" +
					"\tt := task{func() error { <-g; return nil }, &point{done: make(chan struct{})}}\n" +
					"\tif len(s.queue) > 0 {\n" +
					"\t\ts.queue = append([]task{t}, s.queue...)\n" +
					"\t\ts.mu.Unlock()\n" +
					"\t\treturn g, nil\n" +
					"\t}\n" +
					"\ts.mu.Unlock()\n" +
					"\treturn g, s.enqueue(\"gate\", func() error { <-g; return nil })"},
		},
	},
	{
		name: "Gate: Open waits for the stream", by: "StreamOrder/GatesInAnyOrder", hangs: true,
		edits: []edit{
			{"gate.go", "type gate chan struct{}", "type gate struct{ open, passed chan struct{} }"},
			{"gate.go", "\tg := make(gate)\n", "\tg := gate{make(chan struct{}), make(chan struct{})}\n"},
			{"gate.go", "<-g; return nil", "<-g.open; close(g.passed); return nil"},
			{"gate.go", "\tclose(g)\n", "\tclose(g.open)\n\t<-g.passed\n"},
		},
	},
	{
		name: "Gate: opens all gates of the stream", by: "StreamOrder/QueryBusyThenIdle",
		edits: []edit{
			{"gate.go",
				"\tg := make(gate)\n",
				"\ts.mu.Lock()\n" +
					"\tif s.gate == nil {\n" +
					"\t\ts.gate = &shared{open: make(gate)}\n" +
					"\t}\n" +
					"\tg := s.gate.open\n" +
					"\ts.mu.Unlock()\n"},
			{"gate.go", "\tclose(g)\n", "\tdefer func() { _ = recover() }()\n\tclose(g)\n"},
			{"gate.go", "type gate chan struct{}", "type gate chan struct{}\n\ntype shared struct{ open gate }"},
			{"stream.go", "\trunning bool\n", "\trunning bool\n\tgate *shared\n"},
		},
	},
	{
		name: "OnDone: nothing done", by: "Capabilities/BitEqualsInterfaceEqualsBehaviour", hangs: true,
		edits: []edit{
			{"callback.go", "go fn(); return nil", "return nil"},
		},
	},
	{
		name: "OnDone: too early", by: "Capabilities/CallbackFollowsWork",
		edits: []edit{
			{"callback.go", `return s.enqueue("call", func() error { go fn(); return nil })`, "go fn()\n\treturn nil"},
		},
	},
	{
		name: "OnDone: twice", by: "Capabilities/CallbackFollowsWork",
		edits: []edit{
			{"callback.go", "go fn(); return nil", "go fn(); go fn(); return nil"},
		},
	},
	{
		name: "OnDone: later work waits for it", by: "Capabilities/CallbackFollowsWork", hangs: true,
		edits: []edit{
			{"callback.go", "go fn(); return nil", "fn(); return nil"},
		},
	},
	{
		name: "OnDone: on the caller", by: "Capabilities/CallbackFollowsWork", hangs: true,
		edits: []edit{
			{"callback.go", `return s.enqueue("call", func() error { go fn(); return nil })`, "<-s.here().done\n\tfn()\n\treturn nil"},
		},
	},
	{
		name: "OnDone: after the failure of earlier work not at all", by: "Errors/FailureUnderWayIsTold", hangs: true,
		edits: []edit{
			{"callback.go", "go fn(); return nil", "if s.carried == nil {\n\t\tgo fn()\n\t}\n\treturn nil"},
		},
	},
	{
		name: "OnDone: a failed call is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"callback.go",
				`return s.enqueue("call", func() error { go fn(); return nil })`,
				`_ = s.enqueue("call", func() error { go fn(); return nil })` + "\n	return nil"},
		},
	},

	// Errors.
	{
		name: "errors: the vendor's name is lost", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", "e.Kind, e.Vendor.Name = s.kind, s.name", `e.Kind, e.Vendor.Name = s.kind, ""`},
		},
	},
	{
		name: "errors: the vendor's code is lost", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", "Code: int64(st)", "Code: 0"},
		},
	},
	{
		name: "errors: the vendor's call is lost", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", "API: api,", ""},
		},
	},
	{
		name: "errors: of another device", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", "Device: d.info.Ordinal, Kind: driver.ErrDriver,", "Device: d.info.Ordinal + 1, Kind: driver.ErrDriver,"},
		},
	},
	{
		name: "errors: of another backend", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", "e := &driver.Error{Op: op, Backend: d.info.Backend,", `e := &driver.Error{Op: op, Backend: "host",`},
		},
	},
	{
		name: "errors: without the operation", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", "e := &driver.Error{Op: op,", "e := &driver.Error{"},
		},
	},
	{
		name: "errors: no kind", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", "e.Kind, e.Vendor.Name = s.kind, s.name", "e.Kind, e.Vendor.Name = nil, s.name"},
		},
	},
	{
		name:       "errors: a driver error is a busy device",
		equivalent: "what a status means is for the table to say",
		edits: []edit{
			{"errors.go", `"STATUS_BROKEN", driver.ErrDriver}`, `"STATUS_BROKEN", driver.ErrBusy}`},
		},
	},
	{
		name: "errors: a lost device is a driver error", by: "Errors/DeviceLostIsSticky",
		edits: []edit{
			{"errors.go", `"STATUS_GONE", driver.ErrDeviceLost}`, `"STATUS_GONE", driver.ErrDriver}`},
		},
	},
	{
		name: "errors: every failure is a lost device", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"errors.go", `"STATUS_BROKEN", driver.ErrDriver}`, `"STATUS_BROKEN", driver.ErrDeviceLost}`},
		},
	},
}
