-- What a call's record is told. A lift has one record at most: the key LAST names the key of it, which has the same slot by
-- the same braces. RECORD is where the caller takes it to be; the answer is where it is instead, or nothing. Nothing of it
-- expires before the call is acknowledged.
local function settle(LAST, RECORD, command, outcome, life)
    local record = redis.call('GET', LAST)
    if record and record ~= RECORD then
        return record
    end
    if not record or redis.call('HGET', RECORD, 'command') ~= command then
        return nil
    end
    if outcome == 'not_run' then
        redis.call('DEL', RECORD, LAST)
    elseif redis.call('HGET', RECORD, 'state') ~= 'acknowledged' then
        redis.call('HSET', RECORD, 'state', outcome)
        if outcome == 'acknowledged' then
            redis.call('PEXPIRE', RECORD, life)
            redis.call('PEXPIRE', LAST, life)
        end
    end
    return nil
end
