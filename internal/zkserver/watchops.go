package zkserver

// Requests about watches themselves; those that set one as a side effect are in handle.go.

// Watcher types of removeWatches.
const (
	watcherChildren = 1
	watcherData     = 2
	watcherAny      = 3
)

func runSetWatches(r request) (body, errCode) {
	m := missed{since: r.d.Long(), data: r.d.strings(), exist: r.d.strings(), child: r.d.strings()}
	if r.op == opSetWatches2 {
		m.persistent, m.recursive = r.d.strings(), r.d.strings()
	}
	if r.d.Err != nil {
		return nil, codeMarshalling
	}
	r.srv.watches.restore(r.srv.tree, r.c, m)
	return nil, codeOK
}

// runAddWatch sets a watch that fires repeatedly. The node need not exist.
func runAddWatch(r request) (body, errCode) {
	path, mode := r.d.String(), r.d.Int()
	switch {
	case r.d.Err != nil:
		return nil, codeMarshalling
	case mode == 0:
		r.srv.watches.add(watchPersistent, path, r.c)
	case mode == 1:
		r.srv.watches.add(watchRecursive, path, r.c)
	default:
		return nil, codeBadArguments
	}
	return func(e *encoder) { e.int32(int32(codeOK)) }, codeOK
}

// runRemoveWatches answers NoWatcher when this connection has no such watch.
func runRemoveWatches(r request) (body, errCode) {
	path, kind := r.d.String(), r.d.Int()
	if r.d.Err != nil || kind < watcherChildren || kind > watcherAny {
		return nil, codeMarshalling
	}
	var kinds []watchKind
	if kind != watcherData {
		kinds = append(kinds, watchChild)
	}
	if kind != watcherChildren {
		kinds = append(kinds, watchData)
	}
	kinds = append(kinds, watchPersistent, watchRecursive)
	code := codeNoWatcher
	for _, k := range kinds {
		if !r.srv.watches.has(k, path, r.c) {
			continue
		}
		code = codeOK
		r.srv.watches.remove(k, path, r.c)
	}
	return nil, code
}
