-- Returns 1 if the holder has the lock.
for _, key in ipairs(KEYS) do if has(key) then return 1 end end
return 0
