-- Notifies only the first waiter that it is next. A waiter without a listening session is removed, or skipped if the user
-- may not remove it: a server whose script does not end serves no client.
-- It is put before the scripts that use it.
local function wake(waiters, counts)
	local first = 0
	while true do
		local head = redis.pcall('ZRANGE', waiters, first, first)[1]
		if not head then
			return 0
		end
		local heard = redis.pcall('PUBLISH', 'lockscope:wake:@' .. string.sub(head, 11, 22), '0 0 0 0 ' .. head)
		if heard ~= 0 or counts ~= '1' then
			local now = redis.call('TIME')
			redis.pcall('ZADD', waiters, string.format('-%.0f', now[1] * 1000000 + now[2]), head)
			return 1
		end
		if redis.pcall('ZREM', waiters, head) ~= 1 then
			first = first + 1
		end
	end
end
