-- Functions run with the rights of the user who calls them. What makes balances and records is called by control planes alone: by those who may load functions.
local function of_control_plane(callback)
  local function guarded(KEYS, ARGV)
    if not redis.acl_check_cmd('FUNCTION', 'LOAD', '') then
      return redis.error_reply('NOPERM tollgate: only a control plane may call this function')
    end
    return callback(KEYS, ARGV)
  end
  return guarded
end
