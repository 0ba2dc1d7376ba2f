-- Hands a lock that still has our value to the next waiter, or deletes it; a client that does not hold it leaves the queue.
-- ARGV: 1 value, 2 "1" when PUBLISH counts all subscribers, 3 heartbeat in µs.
-- Returns 1 released, 0 there is no such key, -1 another client has it.
local held = redis.call('GET', KEYS[1])
if held ~= ARGV[1] then
	leave(ARGV[1])
end
if (not held or held == ARGV[1]) and not handover(tonumber(ARGV[3]), ARGV[2]) and held then
	redis.call('DEL', KEYS[1])
end
return held == ARGV[1] and 1 or held and -1 or 0
