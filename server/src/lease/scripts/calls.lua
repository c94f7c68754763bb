-- What a call's record is told. A lift has one record at most: the key LAST names the key of it, which has the same slot by
-- the same braces. Nothing of it expires before the call is acknowledged.
local function settle(LAST, command, outcome, life)
    local record = redis.call('GET', LAST)
    if not record or redis.call('HGET', record, 'command') ~= command then
        return
    end
    if outcome == 'not_run' then
        redis.call('DEL', record, LAST)
    elseif redis.call('HGET', record, 'state') ~= 'acknowledged' then
        redis.call('HSET', record, 'state', outcome)
        if outcome == 'acknowledged' then
            redis.call('PEXPIRE', record, life)
            redis.call('PEXPIRE', LAST, life)
        end
    end
end
