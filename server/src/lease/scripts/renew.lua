-- Lets a held lease live on, not beyond the longest hold.
local lease = held()
if not is_ours(lease) or lease.serial ~= ARGV[8] then
    return { 'lost', 0 }
end
if now - lease.since >= HOLD_MAX then
    return { 'too_long', 0 }
end
redis.call('PEXPIRE', LEASE, TTL)
return { 'renewed', redis.call('PTTL', LEASE) }
