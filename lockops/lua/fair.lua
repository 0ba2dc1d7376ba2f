-- What the scripts of a fair lock share; it is put before them.
-- KEYS: 1 the lock, 2 its queue, 3 when its waiters were heard of, 4 the newest fencing token (optional).
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]

local function leave(value)
	local there = redis.call('ZREM', KEYS[2], value)
	redis.call('HDEL', KEYS[3], value)
	return there
end

-- A token above all that were given before, also when the key with the newest is gone.
local function token()
	if not KEYS[4] then
		return 0
	end
	local next = string.format('%.0f', math.max(at, (tonumber(redis.call('GET', KEYS[4])) or 0) + 1))
	redis.call('SET', KEYS[4], next, 'PX', 86400000)
	return next
end

-- Gives the lock to the first waiter who is alive and tells it; not beyond the one given. beat: how long in µs a waiter may
-- keep silent twice, and the first TTL. Returns who has it now, nil for nobody.
local function handover(beat, counts, before)
	while true do
		local head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
		if not head or head == before then
			return nil
		end
		local heard = redis.call('HGET', KEYS[3], head)
		leave(head)
		if heard and at - heard <= 2 * beat then
			local message = token() .. ' ' .. now[1] .. ' ' .. now[2] .. ' ' .. beat .. ' ' .. head
			if redis.pcall('PUBLISH', 'lockscope:wake:@' .. string.sub(head, 11, 22), message) ~= 0 or counts ~= '1' then
				redis.call('SET', KEYS[1], head, 'PX', math.ceil(beat / 1000))
				return head
			end
		end
	end
end
