-- Replaces the live record of an account, unless a newer one is there.
-- KEYS 1 epoch  2 account  3 windows of the account
-- ARGV 1 epoch  2 rev  3 status  4 drain (1 or 0)  5 budgets (shared/budgets.lua)  6 limits
-- Returns OK | STALE | FENCED
local function put_account(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  if not is_limits(ARGV[6]) then return invalid('account record: limits') end
  local reply = replace_record(KEYS[2], ARGV[2], ARGV[3], { 'drain', ARGV[4], 'bud', ARGV[5], 'lim', ARGV[6] })
  if reply[1] == 'OK' then drop_windows(KEYS[3], limits_of(ARGV[6])) end
  return reply
end
