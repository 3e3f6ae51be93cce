-- Replaces the live record of an API key, unless a newer one is there.
-- KEYS 1 epoch  2 key
-- ARGV 1 epoch  2 rev  3 status  4 drain (1 or 0)  5 key id  6 account id  7 expires ms (0 = never)  8 rpm  9 rph  10 rpd
--      11 allowed models  12 address allow-list, normalised  13 budgets (shared/budgets.lua)
-- Returns OK | STALE | FENCED
local function put_key(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  for i = 5, 10 do
    if not natural(ARGV[i]) then return invalid('key record') end
  end
  return replace_record(KEYS[2], ARGV[2], ARGV[3], {
    'drain', ARGV[4], 'id', ARGV[5], 'acct', ARGV[6], 'exp', ARGV[7], 'rpm', ARGV[8], 'rph', ARGV[9], 'rpd', ARGV[10], 'models', ARGV[11], 'ips', ARGV[12],
    'bud', ARGV[13],
  })
end
