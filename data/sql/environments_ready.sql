-- Environments with an admitted verifier, published or about to be.
CREATE OR REPLACE VIEW main.environments_ready AS
SELECT
    k.candidate_id,
    k.repository,
    k.language,
    e.environment_id,
    e.image,
    v.verifier_id,
    v.grade,
    v.tier,
    v.fail_to_pass,
    v.pass_to_pass,
    k.status,
    m.version AS release
FROM main.candidates k
JOIN main.environments e ON e.candidate_id = k.candidate_id
JOIN main.verifiers v ON v.environment_id = e.environment_id
LEFT JOIN (SELECT environment_id, max(version) AS version FROM main.release_members GROUP BY environment_id) m
    ON m.environment_id = e.environment_id
WHERE v.status = 'admitted' AND k.status IN ('verified', 'published');
COMMENT ON VIEW main.environments_ready IS 'Environments with an admitted verifier that nothing holds back';
