-- Wakes the first waiter of a Redlock, on the master that orders them; or takes one out, and wakes the next if it was due.
-- KEYS: the lock, its waiters.  ARGV: 1 "1" when PUBLISH counts all subscribers, 2 the waiter to take out, or ''.
-- Returns 1 if a waiter was woken, else 0.
if ARGV[2] ~= '' and (redis.call('ZREM', KEYS[2], ARGV[2]) == 0 or redis.call('EXISTS', KEYS[1]) == 1) then
	return 0
end
return wake(KEYS[2], ARGV[1])
