-- Publishes a snapshot, unless a newer one is current. Versions before it can be fetched for a day.
-- KEYS 1 current version  2 snapshot of this version
-- ARGV 1 version  2 snapshot JSON  3 prefix of snapshot keys
-- Returns OK | STALE, current version
local function publish(KEYS, ARGV)
  local version = natural(ARGV[1])
  if not version then return invalid('publish') end
  local current = tonumber(redis.call('GET', KEYS[1]) or '0')
  if current > version then return { 'STALE', text(current) } end
  redis.call('SET', KEYS[2], ARGV[2])
  redis.call('SET', KEYS[1], text(version))
  if current < version then redis.call('EXPIRE', ARGV[3] .. text(current), 86400) end
  return { 'OK' }
end
