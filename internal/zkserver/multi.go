package zkserver

// multiHeader precedes every part of a multi, in requests and replies; done marks the end.
type multiHeader struct {
	op   int32
	done bool
	code errCode
}

func decodeMultiHeader(d *decoder) multiHeader {
	return multiHeader{op: d.Int(), done: d.Bool(), code: errCode(d.Int())}
}

func (h multiHeader) encode(e *encoder) {
	e.int32(h.op)
	e.bool(h.done)
	e.int32(int32(h.code))
}

// part is one result in the reply of a multi.
type part struct {
	op   int32
	code errCode
	body body
}

func encodeParts(parts []part) body {
	return func(e *encoder) {
		for _, p := range parts {
			if p.op == opError {
				multiHeader{op: opError, code: p.code}.encode(e)
				e.int32(int32(p.code))
				continue
			}
			multiHeader{op: p.op}.encode(e)
			if p.body != nil {
				p.body(e)
			}
		}
		multiHeader{op: opError, done: true, code: opError}.encode(e)
	}
}

// multiPart is one decoded change of a multi. As in the real server, create2 is answered as create,
// without a Stat, and the creation of a container as create2.
type multiPart struct {
	op    int32 // of the result
	apply func(*txn) (body, errCode)
}

func decodeMulti(d *decoder) ([]multiPart, bool) {
	var parts []multiPart
	for {
		h := decodeMultiHeader(d)
		if d.Err != nil || h.done {
			return parts, d.Err == nil
		}
		parse, ok := writeOps[h.op]
		if !ok || h.op == opSetACL {
			return nil, false
		}
		op := h.op
		if op == opCreate2 {
			op = opCreate
		}
		apply := parse(op, d)
		if apply == nil {
			return nil, false
		}
		if op == opCreateContainer {
			op = opCreate2
		}
		parts = append(parts, multiPart{op, apply})
	}
}

// runMulti executes all changes under one zxid or none. When one fails, the reply's header still
// says OK, as in the real server. All results are then errors: 0 before the failed change, its own
// error, and RuntimeInconsistency after it.
func runMulti(r request) (body, errCode) {
	tx := r.srv.begin(r.c.session.id, r.c.who)
	answer, code := applyMulti(tx, r.d)
	r.srv.commit(tx)
	return answer, code
}

func applyMulti(tx *txn, d *decoder) (body, errCode) {
	ops, ok := decodeMulti(d)
	if !ok {
		return nil, codeMarshalling
	}
	results := make([]part, len(ops))
	for i, op := range ops {
		answer, code := op.apply(tx)
		if code == codeOK {
			results[i] = part{op: op.op, body: answer}
			continue
		}
		tx.rollback()
		for j := range results {
			results[j] = part{op: opError}
			if j > i {
				results[j].code = codeRuntimeInconsistency
			}
		}
		results[i].code = code
		break
	}
	return encodeParts(results), codeOK
}

// runMultiRead executes getData and getChildren requests as one. Each has its own result or error.
// It sets no watches.
func runMultiRead(r request) (body, errCode) {
	var results []part
	for {
		h := decodeMultiHeader(r.d)
		if r.d.Err != nil {
			return nil, codeMarshalling
		}
		if h.done {
			return encodeParts(results), codeOK
		}
		if h.op != opGetData && h.op != opGetChildren {
			return nil, codeMarshalling
		}
		path, _ := r.d.String(), r.d.Bool()
		n, code := r.node(path, permRead)
		switch {
		case r.d.Err != nil:
			return nil, codeMarshalling
		case code != codeOK:
			results = append(results, part{op: opError, code: code})
		case h.op == opGetData:
			results = append(results, part{op: opGetData, body: func(e *encoder) {
				e.buffer(n.data)
				e.stat(n.stat())
			}})
		default:
			results = append(results, part{op: opGetChildren, body: func(e *encoder) { e.strings(n.childNames()) }})
		}
	}
}
