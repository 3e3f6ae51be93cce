-- Publishes a snapshot and its seal, unless a newer one is current. Versions before it can be fetched for a day.
-- KEYS 1 current version  2 snapshot of this version  3 its seal
-- ARGV 1 version  2 snapshot JSON  3 seal JSON  4 prefix of snapshot keys  5 suffix of seal keys  6 1 = whatever is current (it is forged, or of a lower lineage)
-- Returns OK | STALE, current version
local function publish(KEYS, ARGV)
  local version = natural(ARGV[1])
  if not version then return invalid('publish') end
  local current = 0
  if ARGV[6] ~= '1' then
    -- A value that is no version was written by another program, and is overwritten, whatever its type.
    local found = redis.pcall('GET', KEYS[1])
    current = type(found) == 'string' and natural(found) or 0
    if current > version then return { 'STALE', text(current) } end
  end
  redis.call('SET', KEYS[2], ARGV[2])
  redis.call('SET', KEYS[3], ARGV[3])
  redis.call('SET', KEYS[1], text(version))
  if current > 0 and current < version then
    redis.call('EXPIRE', ARGV[4] .. text(current), 86400)
    redis.call('EXPIRE', ARGV[4] .. text(current) .. ARGV[5], 86400)
  end
  return { 'OK' }
end
