-- Deletes a lock if it still has our value, and wakes who is next; who does not hold it leaves the waiters.
-- KEYS: the lock; its waiters (optional).  ARGV: 1 value, 2 "1" when PUBLISH counts all subscribers.
-- Returns 1 deleted, 0 there is no such key, -1 somebody else has it.
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
