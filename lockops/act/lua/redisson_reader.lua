-- Takes the reader ARGV[1] out of the Redisson read-write lock KEYS[1], with the keys of its holds KEYS[2] and on, if it
-- is still in it and readers hold it; the last one frees the lock, and channel ARGV[2] is told.
if look('HGET', KEYS[1], 'mode') ~= 'read' or call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
for i = 2, #KEYS do
  redis.pcall('DEL', KEYS[i])
end
if call('HLEN', KEYS[1]) == 1 then
  call('DEL', KEYS[1])
  wake(ARGV[2], '0')
end
return 1
