-- A hold is one text, packed by cmsgpack: read once, written once. Ids are texts and amounts numbers; what is absent is nil, and nothing follows the
-- last value that is there.
--   st     open, reaped or done; `released`: nothing is known of the request but what repeat_release noted
--   acct, model, amt (held), used (at the last checkpoint), chg (charged), c0, c1, c2 (delta of each event), wd (withdrawal of c2),
--   gen, sub, key, price, node (that signed last), mac (of that node over `used`), bud (its claims on budgets, nil without any: budgets.lua),
--   lim (its place in limits, nil without any: take_limits of limits.lua)
local DONE_TTL_MS = 15 * 60 * 1000
local REAPED_TTL_MS = 24 * 60 * 60 * 1000
local HOLD_STATES = { open = true, reaped = true, done = true, released = true }

local function is_amount(value)
  return type(value) == 'number' and value >= 0 and value <= INTEGER_MAX
end

-- Returns the values of a hold by name, or nil. What another than these functions wrote is no hold.
local function unpack_hold(packed)
  if not packed then return nil end
  local is_packed, st, acct, model, amt, used, chg, c0, c1, c2, wd, gen, sub, key, price, node, mac, bud, lim = pcall(cmsgpack.unpack, packed)
  if not is_packed or not HOLD_STATES[st] then return nil end
  if st ~= 'released' and (type(acct) ~= 'string' or type(model) ~= 'string') then return nil end
  if st == 'open' and (not is_amount(amt) or not is_amount(used)) then return nil end
  return {
    st = st, acct = acct, model = model, amt = amt, used = used, chg = chg, c0 = c0, c1 = c1, c2 = c2, wd = wd,
    gen = gen, sub = sub, key = key, price = price, node = node, mac = mac, bud = bud, lim = type(lim) == 'table' and lim or nil,
  }
end

-- Unpacks a hold as unpack_hold does, from its key. A key of another type is no hold.
local function read_hold(key)
  return unpack_hold(redis.call('MGET', key)[1])
end

-- The marker of a request that was settled while its hold was open, and released nothing into a withdrawal, is short: they are many.
local function pack_hold(hold)
  if hold.st == 'done' and not hold.c1 and not hold.c2 then
    return cmsgpack.pack('done', hold.acct, hold.model, nil, nil, hold.chg, hold.c0)
  end
  if not hold.bud and not hold.lim then
    return cmsgpack.pack(hold.st, hold.acct, hold.model, hold.amt, hold.used, hold.chg, hold.c0, hold.c1, hold.c2, hold.wd,
      hold.gen, hold.sub, hold.key, hold.price, hold.node, hold.mac)
  end
  return cmsgpack.pack(hold.st, hold.acct, hold.model, hold.amt, hold.used, hold.chg, hold.c0, hold.c1, hold.c2, hold.wd,
    hold.gen, hold.sub, hold.key, hold.price, hold.node, hold.mac, hold.bud, hold.lim)
end

local function write_open_hold(key, hold)
  redis.call('SET', key, pack_hold(hold))
end

-- Keeps a hold that has ended for `ttl_ms` of the time that the shard has seen, by a clock that may be behind it. What was released into a withdrawal
-- is kept for a day: the ledger repeats it, and a clock that is ahead for less time than a relay's poll expires markers without any function seeing it.
local function write_ended_hold(key, hold, ttl_ms, now, latest)
  if hold.c2 then ttl_ms = math.max(ttl_ms, REAPED_TTL_MS) end
  redis.call('SET', key, pack_hold(hold), 'PX', text(ttl_ms + latest - now))
end

-- Writes what a hold has used, with the node that signed it: a journal that moved is another node's. It never notes less than was counted.
local function note_used(hold, used, mac, node)
  if used < hold.used then return end
  hold.used, hold.mac, hold.node = used, mac or '', node
end

-- A call names another subscription than the hold's.
local function is_of_other(hold, account, model)
  return hold.acct and (hold.acct ~= account or hold.model ~= model)
end
