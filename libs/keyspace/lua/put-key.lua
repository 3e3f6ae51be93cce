-- Replaces the live record of an API key, unless a newer one is there.
-- KEYS 1 epoch  2 key  3 windows of the key
-- ARGV 1 epoch  2 rev  3 status  4 drain (1 or 0)  5 key id  6 account id  7 expires ms (0 = never)  8 limits  9 allowed models
--      10 address allow-list, normalised  11 budgets (shared/budgets.lua)
-- Returns OK | STALE | FENCED
local function put_key(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  for i = 5, 7 do
    if not natural(ARGV[i]) then return invalid('key record') end
  end
  if not is_limits(ARGV[8]) then return invalid('key record: limits') end
  local reply = replace_record(KEYS[2], ARGV[2], ARGV[3], {
    'drain', ARGV[4], 'id', ARGV[5], 'acct', ARGV[6], 'exp', ARGV[7], 'lim', ARGV[8], 'models', ARGV[9], 'ips', ARGV[10],
    'bud', ARGV[11],
  })
  if reply[1] == 'OK' then drop_windows(KEYS[3], limits_of(ARGV[8])) end
  return reply
end
