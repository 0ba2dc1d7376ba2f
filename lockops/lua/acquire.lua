-- Takes a lock unless another client has it, or is next.
-- KEYS: the lock; its waiters, a sorted set (optional); the newest fencing token (optional).
-- ARGV: 1 value, 2 TTL in ms, 3 time limit in µs of this server's clock, 4 by when to stand among the waiters if it is
-- held: -1 not at all, 0 by now, otherwise µs of this server's clock; 5 the name of the waiter, the value when it is
-- missing; 6 "1" to let all waiters go first.
-- Returns "verdict detail seconds microseconds": verdict 1 taken (detail: fencing token, 0 without), 0 held (detail: the
-- holder's TTL in ms, -1 for none), -1 too late: the limit has passed, nothing was done.
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]
local function answer(verdict, detail)
	return verdict .. ' ' .. detail .. ' ' .. now[1] .. ' ' .. now[2]
end
if at > tonumber(ARGV[3]) then
	return answer(-1, 0)
end
local waiters, me = KEYS[2], ARGV[5] or ARGV[1]
local left, head
if waiters then -- the first may have been woken: it goes before those who come now, for 20 ms
	head = redis.pcall('ZRANGE', waiters, 0, 0, 'WITHSCORES')
	if head[1] and head[1] ~= me and ARGV[6] == '1' then
		left = -1
	elseif head[1] and head[1] ~= me and tonumber(head[2]) < 0 then
		left = math.ceil((20000 - tonumber(head[2]) - at) / 1000)
		if left <= 0 or left > 20 then
			redis.pcall('ZREM', waiters, head[1])
			left = nil
		end
	end
end
if left or not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	local held = redis.call('GET', KEYS[1])
	if held == ARGV[1] then -- ours: the reply to an earlier attempt was lost
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
		return answer(1, KEYS[3] and redis.call('GET', KEYS[3]) or 0)
	end
	if held then
		left = redis.call('PTTL', KEYS[1])
	end
	local since = tonumber(ARGV[4])
	if waiters and since >= 0 then -- a denied command costs a waiter its place, and nothing else
		redis.pcall('ZADD', waiters, since > 0 and ARGV[4] or string.format('%.0f', at), me)
		redis.pcall('PEXPIRE', waiters, 10000)
	end
	return answer(0, left)
end
local token = 0
if KEYS[3] then -- above all that were given before, also when the key with the newest is gone
	token = string.format('%.0f', math.max(at, (tonumber(redis.call('GET', KEYS[3])) or 0) + 1))
	redis.call('SET', KEYS[3], token, 'PX', 86400000)
end
if head and head[1] then
	redis.pcall('ZREM', waiters, me)
end
return answer(1, token)
