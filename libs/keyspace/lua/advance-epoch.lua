-- Moves a shard on, from being filled to restoring and from restoring to open, unless it has lost its data again meanwhile.
-- KEYS 1 epoch
-- ARGV 1 what stands there  2 what takes its place
-- Returns OK | FENCED
local function advance_epoch(KEYS, ARGV)
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'FENCED' } end
  redis.call('SET', KEYS[1], ARGV[2])
  return { 'OK' }
end
