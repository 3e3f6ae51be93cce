-- Keeps live records of keys and accounts. A deleted one stays as a tombstone, so that its running streams learn of it; admission treats it as missing.
local TOMBSTONE_TTL_MS = 48 * 60 * 60 * 1000

-- Writes `fields` (name, value, ...) unless the record's rev is newer.
local function replace_record(key, rev_argument, status, fields)
  local rev = natural(rev_argument)
  if not rev then return invalid('record: rev') end
  -- A value that is no number was not written by these functions, and is overwritten.
  if (natural(redis.call('HGET', key, 'rev')) or 0) > rev then return { 'STALE' } end
  redis.call('HSET', key, 'rev', text(rev), 'st', status, unpack(fields))
  if status == 'deleted' then redis.call('PEXPIRE', key, TOMBSTONE_TTL_MS) else redis.call('PERSIST', key) end
  return { 'OK' }
end

-- Forgets the windows of rates that a record no longer has: one that it is given again begins at 0.
local function drop_windows(key, limits)
  local known = {}
  for _, rate in ipairs(limits and limits.w or {}) do known[rate[1]] = true end
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if not known[field] then
      redis.call('HDEL', key, field)
      redis.call('DEL', key .. ':past:' .. field)
    end
  end
end
