-- Candidates whose states (archaeology) or image (containerize) could not be built, with what was tried.
CREATE OR REPLACE VIEW main.failed_builds AS
SELECT
    d.candidate_id,
    d.repository,
    r.stack,
    r.runtime,
    d.phase,
    d.reason_code,
    d.message,
    count(o.attempt) AS obstacles,
    arg_max(o.symptom, o.attempt) AS last_symptom,
    arg_max(o.remedy, o.attempt) AS last_remedy,
    any_value(e.log_uri) AS log_uri
FROM main.dropped d
LEFT JOIN main.reconstructions r ON r.candidate_id = d.candidate_id
LEFT JOIN main.environments e ON e.candidate_id = d.candidate_id
LEFT JOIN main.obstacles o ON o.candidate_id = d.candidate_id AND o.phase = d.phase
WHERE d.outcome = 'failed' AND d.phase IN ('archaeology', 'containerize')
GROUP BY ALL;
COMMENT ON VIEW main.failed_builds IS 'Builds that could not be made to work: reason, last symptom and remedy, log';
