package buffer

import "github.com/go-halyard/halyard/internal/watch"

func init() {
	watch.Attach = func(b any, w watch.Watcher) {
		b.(interface{ watched(watch.Watcher) }).watched(w)
	}
}

func (b *Buffer[T]) watched(w watch.Watcher) {
	b.s.mu.Lock()
	b.s.watcher = w
	b.s.mu.Unlock()
}
