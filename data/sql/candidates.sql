-- Candidates with their status: how far the current chain of manifests of each one has come. Never a stored field.
CREATE OR REPLACE VIEW main.candidates AS
WITH last AS (
    SELECT c.candidate_id, c.phase, c.outcome, c.reason_code
    FROM history.current c JOIN history.phases p ON p.phase = c.phase
    WHERE c.scope = 'candidates'
    QUALIFY row_number() OVER (PARTITION BY c.candidate_id ORDER BY p.position DESC) = 1
)
SELECT
    rows.* EXCLUDE (manifest, phase, input_key)
        -- Ingest cannot measure it for a session; the origin qualifier does.
        REPLACE (coalesce(rows.start_fidelity, CAST(origin.evidence ->> '$.start_fidelity' AS DOUBLE)) AS start_fidelity),
    CASE
        WHEN dead.id IS NOT NULL THEN 'withdrawn'
        WHEN last.outcome = 'review' THEN 'needs_review'
        WHEN last.outcome = 'needs_model' THEN 'needs_model'
        WHEN last.phase = 'ingest' THEN if(last.outcome = 'passed', 'ingested', 'disqualified')
        WHEN last.phase = 'qualify' THEN if(last.outcome = 'passed', 'qualified', 'disqualified')
        WHEN last.phase = 'archaeology' THEN if(last.outcome = 'passed', 'reconstructed', 'not_reconstructed')
        WHEN last.phase = 'containerize' THEN if(last.outcome = 'passed', 'built', 'build_failed')
        WHEN last.phase IN ('synthesis', 'capture') THEN if(last.outcome = 'passed', 'verified', 'verifier_rejected')
        WHEN last.phase = 'publish' THEN if(last.outcome = 'passed', 'published', 'verified')
    END AS status,
    CASE WHEN dead.id IS NOT NULL THEN 'withdrawn' ELSE last.reason_code END AS reason_code
FROM history.candidates rows
JOIN history.current ingested ON ingested.manifest = rows.manifest
JOIN last ON last.candidate_id = rows.candidate_id
LEFT JOIN main.verdicts origin ON origin.candidate_id = rows.candidate_id AND origin.qualifier = 'origin'
    AND origin.judge <> 'human'
LEFT JOIN history.tombstones dead ON dead.id = rows.candidate_id OR dead.id = rows.contribution_id
-- A contribution and its candidate may both have a tombstone.
QUALIFY row_number() OVER (PARTITION BY rows.candidate_id ORDER BY dead.id) = 1;
COMMENT ON VIEW main.candidates IS 'One row per candidate, with the status its latest manifests give';
