-- Raises what is counted as used of a budget to what the ledger has booked. Every settlement is counted here before it is booked, so a lower count has lost some.
-- KEYS 1 epoch  2 budgets of the account
-- ARGV 1 epoch  2 budget:period  3 used
-- Returns OK, used before | ENOUGH | FENCED
local function raise_budget(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local booked = natural(ARGV[3])
  if not booked then return invalid('used units') end
  local used, held = read_counts(redis.call('HGET', KEYS[2], ARGV[2]))
  if used >= booked then return { 'ENOUGH' } end
  write_counts(KEYS[2], ARGV[2], booked, held)
  return { 'OK', text(used) }
end
