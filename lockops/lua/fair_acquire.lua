-- Takes a lock if it is free and has no earlier waiter. Otherwise it joins the queue, or shows there that it is alive.
-- ARGV: 1 value, 2 TTL in ms, 3 time limit in µs of this server's clock, 4 by when to stand in the queue: -1 not at all, 0
-- by now, otherwise µs of this server's clock, 5 heartbeat in µs, 6 "1" when PUBLISH counts all subscribers.
-- Returns as acquire.lua does; a waiter behind others gets -1 for the holder's TTL, which those ahead watch.
local function answer(verdict, detail)
	return verdict .. ' ' .. detail .. ' ' .. now[1] .. ' ' .. now[2]
end
if at > tonumber(ARGV[3]) then
	return answer(-1, 0)
end
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then -- ours: the reply or the message was lost
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return answer(1, KEYS[4] and redis.call('GET', KEYS[4]) or 0)
end
local since, last = tonumber(ARGV[4]), nil
local new = since == 0
if new then
	last = tonumber(redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2])
	since = math.max(at, (last or 0) + 1) -- behind the last, also when the clock was set back
end
if since > 0 and (held or last or not new and redis.call('EXISTS', KEYS[2]) == 1) then
	local joined = redis.call('ZADD', KEYS[2], 'NX', string.format('%.0f', since), ARGV[1])
	redis.call('PEXPIRE', KEYS[2], 60000)
	if joined == 0 or since < at then -- else its place in the queue says when it was heard of
		redis.call('HSET', KEYS[3], ARGV[1], string.format('%.0f', at))
		redis.call('PEXPIRE', KEYS[3], 60000)
	end
end
if not held then
	held = handover(tonumber(ARGV[5]), ARGV[6], ARGV[1])
end
if held then
	return answer(0, last and -1 or redis.call('PTTL', KEYS[1]))
end
local number = token()
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return answer(1, number)
