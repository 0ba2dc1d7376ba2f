-- Deletes a lock if it still has our value, and wakes the next waiter; a client that does not hold it leaves the waiters.
-- KEYS: the lock; its waiters (optional).  ARGV: 1 value, 2 "1" when PUBLISH counts all subscribers.
-- Returns 1 deleted, 0 there is no such key, -1 another client has it.
local held, waiters = redis.call('GET', KEYS[1]), KEYS[2]
if held ~= ARGV[1] then
	local gone = waiters and redis.pcall('ZREM', waiters, ARGV[1])
	if gone == 1 and not held then -- it may have been woken
		wake(waiters, ARGV[2])
	end
	return held and -1 or 0
end
redis.call('DEL', KEYS[1])
if waiters then
	wake(waiters, ARGV[2])
end
return 1
