package zkserver

// change requests: create, delete, set, check, alone or as parts of a multi.

// parseWrite decodes one change and returns a func that executes it; nil means that the record was
// malformed.
type parseWrite func(op int32, d *decoder) func(*txn) (body, errCode)

var writeOps = map[int32]parseWrite{
	opCreate:          parseCreate,
	opCreate2:         parseCreate,
	opCreateContainer: parseCreate,
	opDelete:          parseDelete,
	opSetData:         parseSetData,
	opSetACL:          parseSetACL,
	opCheck:           parseCheck, // in a multi only
}

// write executes one change request as a separate transaction.
func (s *Server) write(r request, parse parseWrite) (body, errCode) {
	apply := parse(r.op, r.d)
	tx := s.begin(r.c.session.id, r.c.who)
	if apply == nil {
		return nil, codeMarshalling
	}
	answer, code := apply(tx)
	s.commit(tx)
	return answer, code
}

func parseCreate(op int32, d *decoder) func(*txn) (body, errCode) {
	a := createArgs{path: d.String(), data: d.buffer(), acl: d.acls(), flags: d.Int()}
	a.container = op == opCreateContainer
	if d.Err != nil {
		return nil
	}
	return func(tx *txn) (body, errCode) {
		path, n, code := tx.create(a)
		if code != codeOK {
			return nil, code
		}
		st := n.stat()
		return func(e *encoder) {
			e.string(path)
			if op != opCreate {
				e.stat(st)
			}
		}, codeOK
	}
}

func parseDelete(_ int32, d *decoder) func(*txn) (body, errCode) {
	path, version := d.String(), d.Int()
	if d.Err != nil {
		return nil
	}
	return func(tx *txn) (body, errCode) { return nil, tx.delete(path, version) }
}

func parseSetData(_ int32, d *decoder) func(*txn) (body, errCode) {
	path, data, version := d.String(), d.buffer(), d.Int()
	if d.Err != nil {
		return nil
	}
	return func(tx *txn) (body, errCode) { return statBody(tx.setData(path, data, version)) }
}

func parseSetACL(_ int32, d *decoder) func(*txn) (body, errCode) {
	path, list, version := d.String(), d.acls(), d.Int()
	if d.Err != nil {
		return nil
	}
	return func(tx *txn) (body, errCode) { return statBody(tx.setACL(path, list, version)) }
}

func parseCheck(_ int32, d *decoder) func(*txn) (body, errCode) {
	path, version := d.String(), d.Int()
	if d.Err != nil {
		return nil
	}
	return func(tx *txn) (body, errCode) { return nil, tx.check(path, version) }
}

func statBody(n *node, code errCode) (body, errCode) {
	if code != codeOK {
		return nil, code
	}
	st := n.stat()
	return func(e *encoder) { e.stat(st) }, codeOK
}
