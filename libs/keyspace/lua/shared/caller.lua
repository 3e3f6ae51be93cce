-- May this caller come in at all? Returns the refusal, or nil. `key` is HMGET of st, acct, exp, ips; missing and deleted keys look alike.
local function caller_refused(key, account, address, account_status, now)
  if not key[1] or key[1] == 'deleted' or key[2] ~= account then return { 'KEY_UNKNOWN' } end
  if key[1] ~= 'enabled' then return { 'KEY_DISABLED' } end
  local expires = tonumber(key[3])
  if expires > 0 and expires <= now then return { 'KEY_EXPIRED' } end
  if not address_listed(key[4], address) then return { 'ADDRESS_NOT_ALLOWED' } end
  if account_status ~= 'active' then return { 'ACCOUNT_NOT_ACTIVE', account_status or 'unknown' } end
  return nil
end

-- Says whether a running stream of this record may continue. `record` is HMGET of st, drain.
local function lets_run(record, good_status)
  return record[1] == good_status or (record[1] and record[2] == '1')
end
