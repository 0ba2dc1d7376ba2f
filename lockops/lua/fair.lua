-- The common part of the scripts of a fair lock; it is put before them.
-- KEYS: 1 the lock, 2 its queue, 3 when each waiter was heard of, 4 the newest fencing token (optional).
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]

local function leave(value)
	redis.call('ZREM', KEYS[2], value)
	redis.call('HDEL', KEYS[3], value)
end

-- A token above all that were given before, also when the key with the newest is gone.
local function token()
	if not KEYS[4] then
		return 0
	end
	local newest = tonumber(redis.call('GET', KEYS[4])) or 0
	local next = string.format('%.0f', math.max(at, newest + 1))
	redis.call('SET', KEYS[4], next, 'PX', 86400000)
	return next
end

-- Gives the lock to the first live waiter and notifies it; not beyond the given one, which leaves the queue. beat: how
-- long in µs a waiter may keep silent twice, and the first TTL. Returns the new holder, nil for none.
local function handover(beat, counts, before)
	while true do
		local head = redis.call('ZPOPMIN', KEYS[2])
		local value = head[1]
		if not value then
			return nil
		end
		local heard = redis.call('HGET', KEYS[3], value)
		if heard then
			redis.call('HDEL', KEYS[3], value)
		end
		if value == before then
			return nil
		end
		if at - tonumber(heard or head[2]) <= 2 * beat then
			local message = token() .. ' ' .. now[1] .. ' ' .. now[2] .. ' ' .. beat .. ' ' .. value
			if redis.pcall('PUBLISH', 'lockscope:wake:@' .. string.sub(value, 11, 22), message) ~= 0 or counts ~= '1' then
				redis.call('SET', KEYS[1], value, 'PX', math.ceil(beat / 1000))
				return value
			end
		end
	end
end
