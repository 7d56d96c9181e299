-- Everything that fell out or waits for a person or a model: where, why, and on what evidence. Refused contributions have
-- no candidate; their contribution id stands in both columns.
CREATE OR REPLACE VIEW main.dropped AS
WITH doubts AS (
    SELECT
        candidate_id,
        to_json(list({
            qualifier: qualifier, decision: decision, reason_code: reason_code, evidence: evidence
        } ORDER BY qualifier)) AS evidence
    FROM main.verdicts WHERE decision <> 'pass' GROUP BY candidate_id
),
hindrances AS (
    SELECT
        candidate_id,
        phase,
        to_json(list({attempt: attempt, symptom: symptom, remedy: remedy, resolved: resolved} ORDER BY attempt)) AS evidence
    FROM main.obstacles GROUP BY candidate_id, phase
)
SELECT
    c.candidate_id,
    k.contribution_id,
    k.repository,
    c.phase,
    c.outcome,
    c.reason_code,
    c.message,
    CASE WHEN c.phase = 'qualify' THEN doubts.evidence ELSE hindrances.evidence END AS evidence
FROM history.current c
JOIN main.candidates k ON k.candidate_id = c.candidate_id
LEFT JOIN doubts ON doubts.candidate_id = c.candidate_id
LEFT JOIN hindrances ON hindrances.candidate_id = c.candidate_id AND hindrances.phase = c.phase
WHERE c.scope = 'candidates' AND c.outcome <> 'passed' AND k.status <> 'withdrawn'
UNION ALL BY NAME
SELECT
    contribution_id AS candidate_id,
    contribution_id,
    'ingest' AS phase,
    'rejected' AS outcome,
    reason_code,
    message
FROM main.contributions WHERE NOT accepted AND contribution_id NOT IN (FROM history.tombstones);
COMMENT ON VIEW main.dropped IS 'Candidates and contributions that fell out: phase, reason code, message, evidence';
