-- Applies entries of the journal to the filter and, while a rebuild runs, also to its successor; each entry once.
-- KEYS: filter, state, done; the same of the successor; voucher. ARGV: for each entry its seq, xid, command and key.
-- Answers the voucher, or false if there is no filter.
local is_there = false
for copy = 1, 4, 3 do
  local filter, state, done = KEYS[copy], KEYS[copy + 1], KEYS[copy + 2]
  local position = tonumber(redis.call('HGET', state, 'position'))
  -- An error if there is none, if it lacks writes, or if the server does not have its secret: then nothing is noted as done.
  if position and type(redis.pcall('UM.EXISTS', filter, '')) == 'number' then
    is_there = is_there or copy == 1
    for entry = 1, #ARGV, 4 do
      local seq, xid, command, key = unpack(ARGV, entry, entry + 3)
      if tonumber(xid) >= position and not redis.call('ZSCORE', done, seq) then
        redis.call(command, filter, key)
        redis.call('ZADD', done, xid, seq)
      end
    end
  end
end
return is_there and redis.call('GET', KEYS[7])
