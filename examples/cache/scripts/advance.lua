-- Notes that a filter has everything that transactions before an xid did.
-- KEYS: state, done. ARGV: the build that was caught up, xid.
local build, position = unpack(redis.call('HMGET', KEYS[1], 'build', 'position'))
if build ~= ARGV[1] then
  return 0
end
if tonumber(ARGV[2]) > tonumber(position) then
  redis.call('HSET', KEYS[1], 'position', ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[2])
end
return 1
