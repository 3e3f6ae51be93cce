-- Answers like access.lua, for what callers ask beside inference (/v1/models, count_tokens), and counted: a window of a minute that inference does not share.
-- KEYS 1 epoch  2 key  3 account  4 subscribed models  5 window of inquiries
--      6 windows of the key (only for what counts as a request too)
-- ARGV 1 epoch  2 account id  3 address (32 hex or '')  4 limit at least  5 limit of a key without rpm  6 now (tests only)
-- Returns as access, or RATE_LIMITED, rate, retry ms, (rate, limit, remaining, reset ms)
local function inquire(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local at_least, otherwise, now = natural(ARGV[4]), natural(ARGV[5]), clock(ARGV[6])
  if not at_least or not otherwise then return invalid('inquiry') end
  local key = redis.call('HMGET', KEYS[2], 'st', 'acct', 'exp', 'ips', 'id', 'models', 'lim')
  local refused = caller_refused(key, ARGV[2], ARGV[3], redis.call('HGET', KEYS[3], 'st'), now)
  if refused then return refused end
  local limits, rpm, own = limits_of(key[7]), nil, {}
  if limits then
    rpm = requests_a_minute(limits)
    if KEYS[6] then add_windows(own, KEYS[6], limits, '', 'r') end
  end
  local inquiries = window_of(KEYS[5], 'rpm', 'r', 1000, rpm and math.max(rpm, at_least) or otherwise)
  read_windows({ inquiries }, now)
  read_windows(own, now)
  for _, windows in ipairs({ { inquiries }, own }) do
    local denied, retry_ms = full_window(windows, now)
    if denied then return { 'RATE_LIMITED', denied.field, text(retry_ms), unpack(report_of(windows, now)) } end
  end
  count_admitted({ inquiries }, 0)
  count_admitted(own, 0)
  local reply = { 'OK', key[5], key[6] }
  for _, model in ipairs(redis.call('SMEMBERS', KEYS[4])) do table.insert(reply, model) end
  return reply
end
