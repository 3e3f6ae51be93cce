-- As access.lua, for what callers ask beside inference (/v1/models, count_tokens), and counted: a window of a minute that inference does not share.
-- KEYS 1 epoch  2 key  3 account  4 subscribed models  5 window of inquiries
--      6 windows of the key (only for what counts as a request too)
-- ARGV 1 epoch  2 account id  3 address (32 hex or '')  4 limit at least  5 limit of a key without rpm  6 now (tests only)
-- Returns as access, or RATE_LIMITED, window, retry ms, (window, limit, remaining, reset ms)
local function inquire(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local at_least, otherwise, now = natural(ARGV[4]), natural(ARGV[5]), clock(ARGV[6])
  if not at_least or not otherwise then return invalid('inquiry') end
  local key = redis.call('HMGET', KEYS[2], 'st', 'acct', 'exp', 'ips', 'id', 'models', 'rpm', 'rph', 'rpd')
  local refused = caller_refused(key, ARGV[2], ARGV[3], redis.call('HGET', KEYS[3], 'st'), now)
  if refused then return refused end
  local rpm = tonumber(key[7])
  local limits = { rpm == 0 and otherwise or math.max(rpm, at_least), 0, 0 }
  local verdict = judge_windows(KEYS[5], redis.call('GET', KEYS[5]), limits, now)
  if verdict.denied then return { 'RATE_LIMITED', verdict.denied, verdict.retry_ms, unpack(verdict.report) } end
  local own = { tonumber(key[7]), tonumber(key[8]), tonumber(key[9]) }
  if KEYS[6] and own[1] + own[2] + own[3] > 0 then
    local windows = judge_windows(KEYS[6], redis.call('GET', KEYS[6]), own, now)
    if windows.denied then return { 'RATE_LIMITED', windows.denied, windows.retry_ms, unpack(windows.report) } end
    write_windows(KEYS[6], windows)
  end
  write_windows(KEYS[5], verdict)
  local reply = { 'OK', key[5], key[6] }
  for _, model in ipairs(redis.call('SMEMBERS', KEYS[4])) do table.insert(reply, model) end
  return reply
end
