-- Raises what is counted as used of a budget to what the ledger has booked. Every settlement is counted here before it is booked, so a lower count has lost some.
-- KEYS 1 epoch  2 budgets of the account
-- ARGV 1 epoch  2 budget:period  3 used  4 value of budget-values.lua ('' = it counts all requests together)  5 now (tests only)
-- Returns OK, used before | ENOUGH | FENCED
local function raise_budget(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local booked = natural(ARGV[3])
  if not booked then return invalid('used units') end
  local value = ARGV[4] ~= '' and ARGV[4] or nil
  local place = place_of(KEYS[2], value)
  local used, held = read_counts(redis.call('HGET', place, ARGV[2]))
  if used >= booked then return { 'ENOUGH' } end
  write_counts(place, ARGV[2], booked, held)
  if value then keep_found(KEYS[2], value, clock(ARGV[5])) end
  return { 'OK', text(used) }
end
