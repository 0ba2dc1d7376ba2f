-- What every script here begins with. Its last argument is until when, in milliseconds of this server's clock, it may
-- do anything; 0 for no limit.

-- call runs a command and names it when it is refused: the server's own message names only the script.
local function call(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    error('refused ' .. select(1, ...) .. ': ' .. reply.err)
  end
  return reply
end

-- look is call, and false if the key is of another type.
local function look(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'WRONGTYPE') then
      return false
    end
    error('refused ' .. select(1, ...) .. ': ' .. reply.err)
  end
  return reply
end

-- wake tells a channel. Who hears it finds out sooner; who does not, later: whether that may be done, or is known to this
-- server (SPUBLISH: since Redis 7), changes nothing about what was released.
local function wake(channel, message)
  redis.pcall('PUBLISH', channel, message)
  redis.pcall('SPUBLISH', channel, message)
end

local limit = tonumber(ARGV[#ARGV])
if limit > 0 then
  local now = call('TIME')
  if tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000) > limit then
    error('too late')
  end
end

