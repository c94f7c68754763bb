-- Lets a held lease live on, not beyond the longest hold; claims what was handed over.
local lease = held()
if not is_ours(lease) or lease.serial ~= ARGV[8] then
    return { 'lost', 0 }
end
if lease.since == 0 then
    redis.call('HSET', LEASE, 'since', now)
    leave_line(HOLDER)
elseif now - lease.since >= HOLD_MAX then
    return { 'too_long', 0 }
end
redis.call('PEXPIRE', LEASE, TTL)
return { 'renewed', redis.call('PTTL', LEASE) }
