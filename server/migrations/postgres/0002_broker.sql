-- Whether the broker reaches a node. What an older program wrote says nothing of it, and counts as reached.
ALTER TABLE nodes ADD COLUMN hears_broker BOOLEAN NOT NULL DEFAULT true;

-- A place before a lift moves the step row of its task since now. A ledger without rows gets all of them from its
-- entries when it is opened.
INSERT INTO rows (kind, name, number)
SELECT 'step', record::jsonb -> 'sessionRequested' ->> 'task', count(*)
FROM entries
WHERE record::jsonb -> 'sessionRequested' ->> 'task' IS NOT NULL AND EXISTS (SELECT 1 FROM rows)
GROUP BY 2
ON CONFLICT (kind, name) DO UPDATE SET number = rows.number + excluded.number;
