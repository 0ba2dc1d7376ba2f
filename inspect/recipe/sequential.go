package recipe

// sequential is any other queue of ephemeral sequential nodes, such as the plain tutorials' /locker/foo0000000001:
// the lowest number holds, each waits for the one before it, whatever the prefixes say. The name alone does not
// prove a lock: a reader must also see that the nodes are ephemeral.
func sequential() Queue {
	return Queue{
		Name:   "sequential",
		Parse:  parseSequential,
		Prefix: func(string) string { return "lock-" },
		Owner:  labelOnly,
	}
}

func parseSequential(child string) (Entry, bool) {
	_, seq, ok := SplitSequence(child)
	return Entry{Name: child, Sequence: seq, Mode: Exclusive}, ok
}
