package main

var ofStream = []mutant{
	// Streams.
	{
		name: "NewStream: a failure is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"stream.go", `d.card.lib.call("queueCreate")); err != nil`, `d.card.lib.call("queueCreate")); false && err != nil`},
		},
	},
	{
		name: "NewStream: one queue for all streams of the device", by: "StreamOrder/GateHoldsWork", hangs: true,
		edits: []edit{
			{"stream.go",
				"\treturn &stream{dev: d}, nil",
				"\tif s, ok := everyStream.Load(d); ok {\n" +
					"\t\treturn s.(*stream), nil\n" +
					"\t}\n" +
					"\ts := &stream{dev: d}\n" +
					"\teveryStream.Store(d, s)\n" +
					"\treturn s, nil"},
			everyStream,
		},
	},
	{
		name: "NewStream: waits for the streams that are there", hangs: true,
		edits: []edit{
			{"stream.go",
				"\treturn &stream{dev: d}, nil",
				"\ts := &stream{dev: d}\n" +
					"\teveryStream.Range(func(o, _ any) bool { <-o.(*stream).here().done; return true })\n" +
					"\teveryStream.Store(s, true)\n" +
					"\treturn s, nil"},
			everyStream,
		},
	},
	{
		name: "NewStream: a new stream runs after the work of the others", by: "StreamOrder/QueryBusyThenIdle", hangs: true,
		edits: []edit{
			{"stream.go",
				"\treturn &stream{dev: d}, nil",
				"\ts := &stream{dev: d}\n" +
					"\teveryStream.Range(func(o, _ any) bool {\n" +
					"\t\tp := o.(*stream).here()\n" +
					"\t\t_ = s.enqueue(\"wait\", func() error { <-p.done; return nil })\n" +
					"\t\treturn true\n" +
					"\t})\n" +
					"\teveryStream.Store(s, true)\n" +
					"\treturn s, nil"},
			everyStream,
		},
	},
	{
		name: "NewStream: a goroutine for each stream, until it is closed", by: "Lifetime/IdleStreamsTakeNoGoroutine",
		edits: []edit{
			{"stream.go",
				"\treturn &stream{dev: d}, nil",
				"\ts := &stream{dev: d, closed: make(chan bool)}\n" +
					"\tgo func() { <-s.closed }()\n" +
					"\treturn s, nil"},
			{"stream.go", "\trunning bool\n", "\trunning bool\n\tclosed chan bool\n"},
			{"stream.go", "func (s *stream) Close() error { return nil }", "func (s *stream) Close() error { close(s.closed); return nil }"},
		},
	},
	{
		name: "NewStream: a goroutine for each stream, for ever", by: "Lifetime/IdleStreamsTakeNoGoroutine",
		edits: []edit{
			{"stream.go", "\treturn &stream{dev: d}, nil", "\tgo func() { select {} }()\n\treturn &stream{dev: d}, nil"},
		},
	},
	{
		name: "Close stream: kept for ever", by: "Lifetime/ClosedObjectsAreForgotten",
		edits: []edit{
			{"stream.go",
				"func (s *stream) Close() error { return nil }",
				"func (s *stream) Close() error { everyStream.Store(s, make([]byte, 64<<10)); return nil }"},
			everyStream,
		},
	},
	{
		name: "Close stream: waits for other streams", by: "Lifetime/CloseDoesNotWait", hangs: true,
		edits: []edit{
			{"stream.go",
				"func (s *stream) Close() error { return nil }",
				"func (s *stream) Close() error {\n" +
					"\teveryStream.Range(func(s, _ any) bool { <-s.(*stream).here().done; return true })\n" +
					"\treturn nil\n" +
					"}"},
			everyStream,
			keepStreams,
		},
	},
	{
		name: "enqueue: the newest work comes first", by: "Allocation/ContentsIsolated",
		edits: []edit{
			{"stream.go", "s.queue, s.last = append(s.queue, t), t.after", "s.queue, s.last = append([]task{t}, s.queue...), t.after"},
		},
	},
	{
		name: "enqueue: bounded at 1024", by: "StreamOrder/LongQueueDoesNotWait", hangs: true,
		edits: []edit{
			{"stream.go",
				"\ts.mu.Lock()\n" +
					"\ts.queue, s.last",
				"\tfor s.mu.Lock(); len(s.queue) >= 1024; s.mu.Lock() {\n" +
					"\t\ts.mu.Unlock()\n" +
					"\t\truntime.Gosched()\n" +
					"\t}\n" +
					"\ts.queue, s.last"},
			{"stream.go", "\t\"sync\"\n", "\t\"runtime\"\n\t\"sync\"\n"},
		},
	},
	{
		name: "enqueue: bounded at 4000", by: "StreamOrder/LongQueueDoesNotWait", hangs: true,
		edits: []edit{
			{"stream.go",
				"\ts.mu.Lock()\n" +
					"\ts.queue, s.last",
				"\tfor s.mu.Lock(); len(s.queue) >= 4000; s.mu.Lock() {\n" +
					"\t\ts.mu.Unlock()\n" +
					"\t\truntime.Gosched()\n" +
					"\t}\n" +
					"\ts.queue, s.last"},
			{"stream.go", "\t\"sync\"\n", "\t\"runtime\"\n\t\"sync\"\n"},
		},
	},
	{
		name: "enqueue: refuses work beyond 1024", by: "StreamOrder/Burst",
		edits: []edit{
			{"stream.go",
				"\tt := task{run,",
				"\ts.mu.Lock()\n" +
					"\tfull := len(s.queue) >= 1024\n" +
					"\ts.mu.Unlock()\n" +
					"\tif full {\n" +
					"\t\treturn s.dev.failure(op, driver.ErrBusy, \"the queue is full\")\n" +
					"\t}\n" +
					"\tt := task{run,"},
		},
	},
	{
		name: "enqueue: drops work beyond 1024", by: "StreamOrder/Burst",
		edits: []edit{
			{"stream.go",
				"\ts.mu.Lock()\n" +
					"\ts.queue, s.last",
				"\ts.mu.Lock()\n" +
					"\tif len(s.queue) >= 1024 && op != \"gate\" && op != \"call\" {\n" +
					"\t\tt.run = func() error { return nil }\n" +
					"\t}\n" +
					"\ts.queue, s.last"},
		},
	},
	{
		name: "enqueue: a failed call is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"stream.go",
				`s.dev.check(op, "queueSubmit", s.dev.card.lib.call("queueSubmit")); err != nil`,
				`s.dev.check(op, "queueSubmit", s.dev.card.lib.call("queueSubmit")); false && err != nil`},
		},
	},
	{
		name: "enqueue: a failed call enqueues the work", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"stream.go",
				"\tif err := s.dev.check(op, \"queueSubmit\", s.dev.card.lib.call(\"queueSubmit\")); err != nil {\n" +
					"\t\treturn err\n" +
					"\t}\n",
				"\terr := s.dev.check(op, \"queueSubmit\", s.dev.card.lib.call(\"queueSubmit\"))\n"},
			{"stream.go", "\t\tgo s.work()\n\t}\n\ts.mu.Unlock()\n\treturn nil", "\t\tgo s.work()\n\t}\n\ts.mu.Unlock()\n\treturn err"},
		},
	},
	{
		name: "enqueue: work after a failure is left out", by: "Coherence/FailureUnderWayIsNoticed",
		edits: []edit{
			{"stream.go",
				"\t\terr := t.run()\n",
				"\t\tif s.carried != nil {\n" +
					"\t\t\tt.run = func() error { return nil }\n" +
					"\t\t}\n" +
					"\t\terr := t.run()\n"},
		},
	},
	{
		name: "enqueue: work after a failure fails", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go", "\t\terr := t.run()\n", "\t\terr := t.run()\n\t\tif s.carried != nil {\n\t\t\terr = s.carried.err\n\t\t}\n"},
		},
	},
	{
		name: "Record: nothing done", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"stream.go", "\te.(*event).set(s.here())\n", ""},
		},
	},
	{
		name: "Record: without the latest work", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"stream.go",
				"\te.(*event).set(s.here())\n",
				"\ts.mu.Lock()\n" +
					"\tp := s.earlier\n" +
					"\ts.mu.Unlock()\n" +
					"\tif p == nil {\n" +
					"\t\tp = s.here()\n" +
					"\t}\n" +
					"\te.(*event).set(p)\n"},
			{"stream.go", "\trunning bool\n", "\trunning bool\n\tearlier *point\n"},
			{"stream.go",
				"\ts.queue, s.last = append(s.queue, t), t.after",
				"\ts.earlier = s.last\n" +
					"\ts.queue, s.last = append(s.queue, t), t.after"},
		},
	},
	{
		name: "Record: leaves out a wait with no work after it", by: "Events/WaitAloneIsRecorded",
		edits: leavesOut("wait"),
	},
	{
		name: "Record: leaves out a gate with no work after it", by: "Events/FollowsWork",
		edits: leavesOut("gate"),
	},
	{
		name: "Record: leaves out a fill", by: "Allocation/ContentsIsolated",
		edits: leavesOut("fill"),
	},
	{
		name: "Record: leaves out a copy out", by: "Enumeration/ReopenAfterClose",
		edits: leavesOut("copy out"),
	},
	{
		name: "Record: only the first counts", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"event.go", "\te.at = p\n", "\tif e.at == nil {\n\t\te.at = p\n\t}\n"},
		},
	},
	{
		name: "Record: with later work", by: "StreamOrder/GateHoldsWork", hangs: true,
		edits: []edit{
			{"event.go", "\tcase !p.reached():", "\tcase !p.reached() || p.of != nil && !p.of.here().reached():"},
			{"event.go",
				"\t<-p.done\n" +
					"\treturn p.failure.tell()",
				"\t<-p.done\n" +
					"\tif p.of != nil {\n" +
					"\t\t<-p.of.here().done\n" +
					"\t}\n" +
					"\treturn p.failure.tell()"},
			{"stream.go", "\tdone    chan struct{}\n", "\tdone    chan struct{}\n\tof *stream\n"},
			{"stream.go", "\tt := task{run, &point{done: make(chan struct{})}}", "\tt := task{run, &point{done: make(chan struct{}), of: s}}"},
		},
	},
	{
		name: "Wait: nothing done", by: "Events/WaitOrders",
		edits: []edit{
			{"stream.go", "if p == nil || p.reached() {\n\t\treturn nil", "if true || p == nil {\n\t\treturn nil"},
		},
	},
	{
		name: "Wait: holds up the caller", by: "Events/WaitOrders", hangs: true,
		edits: []edit{
			{"stream.go", `return s.enqueue("wait", func() error { <-p.done; return nil })`, "<-p.done\n\treturn nil"},
		},
	},
	{
		name: "Wait: for what the event stands for later", by: "Events/ReuseKeepsEarlierWaits", hangs: true,
		edits: []edit{
			{"stream.go", "func() error { <-p.done; return nil })", "func() error { <-e.(*event).get().done; return nil })"},
		},
	},
	{
		name: "Wait: later work does not wait, unless it is enqueued at once", by: "Events/WaitAloneIsRecorded",
		edits: []edit{
			{"stream.go", `return s.enqueue("wait", func() error { <-p.done; return nil })`, "s.skip = p\n\treturn nil"},
			{"stream.go", "\trunning bool\n", "\trunning bool\n\tskip *point\n"},
			{"stream.go",
				"\tt := task{run,",
				"\tif p := s.skip; p != nil {\n" +
					"\t\ts.skip = nil\n" +
					"\t\t_ = s.enqueue(\"wait\", func() error { <-p.done; return nil })\n" +
					"\t}\n" +
					"\tt := task{run,"},
		},
	},
	{
		name: "Wait: only the last of several", by: "Events/FanOutFanIn",
		edits: []edit{
			{"stream.go",
				`return s.enqueue("wait", func() error { <-p.done; return nil })`,
				"s.mu.Lock()\n" +
					"\tif n := len(s.queue); n > 0 && s.queue[n-1].wait {\n" +
					"\t\ts.queue[n-1].run = func() error { <-p.done; return nil }\n" +
					"\t\ts.mu.Unlock()\n" +
					"\t\treturn nil\n" +
					"\t}\n" +
					"\ts.mu.Unlock()\n" +
					"\terr := s.enqueue(\"wait\", func() error { <-p.done; return nil })\n" +
					"\ts.mu.Lock()\n" +
					"\tif n := len(s.queue); n > 0 && s.queue[n-1].after == s.last {\n" +
					"\t\ts.queue[n-1].wait = true\n" +
					"\t}\n" +
					"\ts.mu.Unlock()\n" +
					"\treturn err"},
			{"stream.go", "\tafter *point\n", "\tafter *point\n\twait bool\n"},
			{"stream.go", "task{run, &point{done: make(chan struct{})}}", "task{run: run, after: &point{done: make(chan struct{})}}"},
		},
	},
	{
		name:       "Wait: takes on the failure of the other stream",
		equivalent: "a failure may travel along a wait, as it does in OpenCL",
		edits: []edit{
			{"stream.go",
				"func() error { <-p.done; return nil })",
				"func() error {\n" +
					"\t\t<-p.done\n" +
					"\t\tif p.failure != nil {\n" +
					"\t\t\treturn p.failure.err\n" +
					"\t\t}\n" +
					"\t\treturn nil\n" +
					"\t})"},
		},
	},
	{
		name: "Wait: makes the other stream wait for this one", by: "Events/WaitDelaysOnlyTheWaiter", hangs: true,
		edits: []edit{
			{"stream.go",
				`return s.enqueue("wait", func() error { <-p.done; return nil })`,
				"if p.of != nil && p.of != s {\n" +
					"\t\tq := s.here()\n" +
					"\t\t_ = p.of.enqueue(\"wait\", func() error { <-q.done; return nil })\n" +
					"\t}\n" +
					"\treturn s.enqueue(\"wait\", func() error { <-p.done; return nil })"},
			{"stream.go", "\tdone    chan struct{}\n", "\tdone    chan struct{}\n\tof *stream\n"},
			{"stream.go", "\tt := task{run, &point{done: make(chan struct{})}}", "\tt := task{run, &point{done: make(chan struct{}), of: s}}"},
		},
	},
	{
		name: "Query: always done", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"stream.go", "\tif s.last != nil && !s.last.reached() {\n\t\treturn false, nil", "\tif false {\n\t\treturn false, nil"},
		},
	},
	{
		name: "Query: never done", by: "Enumeration/FreeFollowsAllocations", hangs: true,
		edits: []edit{
			{"stream.go", "\treturn true, s.takeFault()\n", "\treturn s.last == nil, s.takeFault()\n"},
		},
	},
	{
		name: "Query: done when the latest work has begun", by: "Events/WaitAloneIsRecorded",
		edits: []edit{
			{"stream.go", "\tif s.last != nil && !s.last.reached() {\n\t\treturn false, nil", "\tif len(s.queue) > 0 {\n\t\treturn false, nil"},
		},
	},
	{
		name: "Query: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go", "\treturn true, s.takeFault()\n", "\t_ = s.takeFault()\n\treturn true, nil\n"},
		},
	},
	{
		name: "Query: a failure is kept for Sync", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go", "\treturn true, s.takeFault()\n", "\treturn true, nil\n"},
		},
	},
	{
		name: "Query: a failure is returned each time", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go", "\treturn true, s.takeFault()\n", "\treturn true, s.fault.tell()\n"},
		},
	},
	{
		name: "Query: waits", by: "StreamOrder/FIFO", hangs: true,
		edits: []edit{
			{"stream.go",
				"\tif s.last != nil && !s.last.reached() {\n" +
					"\t\treturn false, nil",
				"\tfor s.last != nil && !s.last.reached() {\n" +
					"\t\tp := s.last\n" +
					"\t\ts.mu.Unlock()\n" +
					"\t\t<-p.done\n" +
					"\t\ts.mu.Lock()"},
		},
	},
	{
		name: "Sync: returns at once", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go", "\t<-s.here().done\n", ""},
		},
	},
	{
		name: "Sync: waits for later work too", by: "StreamOrder/StreamSyncCoversEarlierWorkOnly", hangs: true,
		edits: []edit{
			{"stream.go",
				"\t<-s.here().done\n",
				"\tfor p := s.here(); ; p = s.here() {\n" +
					"\t\t<-p.done\n" +
					"\t\tif s.here().reached() {\n" +
					"\t\t\tbreak\n" +
					"\t\t}\n" +
					"\t}\n"},
		},
	},
	{
		name: "Sync: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go",
				"\t<-s.here().done\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n" +
					"\treturn s.takeFault()",
				"\t<-s.here().done\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n" +
					"\t_ = s.takeFault()\n" +
					"\treturn nil"},
		},
	},
	{
		name: "Sync: a failure is kept for Query", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"stream.go", "\t<-s.here().done\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn s.takeFault()", "\t<-s.here().done\n\treturn nil"},
		},
	},
	{
		name:       "Sync: a failure is returned each time",
		equivalent: "after a Sync that fails package hal asks Query, which takes the failure",
		edits: []edit{
			{"stream.go",
				"\t<-s.here().done\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n" +
					"\treturn s.takeFault()",
				"\t<-s.here().done\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n" +
					"\treturn s.fault.tell()"},
		},
	},
	{
		name: "Sync: a failed call is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"stream.go", `s.dev.card.lib.call("queueWait")); err != nil`, `s.dev.card.lib.call("queueWait")); false && err != nil`},
		},
	},
	{
		name: "Sync: blocks other calls on the stream", by: "StreamOrder/StreamSyncCoversEarlierWorkOnly", hangs: true,
		edits: []edit{
			{"stream.go",
				"\t<-s.here().done\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n",
				"\tp := s.here()\n" +
					"\ts.waits.Lock()\n" +
					"\t<-p.done\n" +
					"\ts.waits.Unlock()\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n"},
			{"stream.go", "\trunning bool\n", "\trunning bool\n\twaits sync.Mutex\n"},
			{"stream.go", "\tt := task{run,", "\ts.waits.Lock()\n\ts.waits.Unlock()\n\tt := task{run,"},
		},
	},
	{
		name: "Sync: blocks calls on the whole device", by: "StreamOrder/StreamSyncCoversEarlierWorkOnly", hangs: true,
		edits: []edit{
			{"stream.go",
				"\t<-s.here().done\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n",
				"\tp := s.here()\n" +
					"\ts.dev.waits.Lock()\n" +
					"\t<-p.done\n" +
					"\ts.dev.waits.Unlock()\n" +
					"\ts.mu.Lock()\n" +
					"\tdefer s.mu.Unlock()\n"},
			{"device.go", "\tinfo driver.Info\n}", "\tinfo driver.Info\n\twaits sync.Mutex\n}"},
			{"device.go", "\t\"fmt\"\n", "\t\"fmt\"\n\t\"sync\"\n"},
			{"stream.go", "\tt := task{run,", "\ts.dev.waits.Lock()\n\ts.dev.waits.Unlock()\n\tt := task{run,"},
		},
	},
}
