'use strict'
// Why a test did not pass, told from the error a test tool hands over: its code, name, properties, then its message.
//
// - `assertion`: an AssertionError of node, chai or vitest, or what jest's expect throws (a matcherResult, or its words).
// - `wrong_exception`: something was to be thrown, and something else was: told by the tools' own words.
// - `import`: a module that cannot be found or lacks an export; `missing_name`: what is called or named is not there.
// - `timeout`: the tool's own time limit for a test. `collection`: code that does not parse. `error`: anything else.
const DETAIL = 300

const IMPORT = /Cannot find (module|package)|does not provide an export|Failed to (load|resolve)|Could not resolve|Module not found|is not exported/i
const PARSE = /^(SyntaxError|TransformError)|Transform failed|Failed to parse|Unexpected token|error TS\d+/
const OTHER_THROWN = /\bReceived (constructor|message|name):|expected to be an instance of .* Received "|to throw .*\bbut .* was thrown|expected error to be instance of|to throw error .* but got|threw unexpected exception|Expected error to be instance of/is
const MISSING = /is not a (function|constructor)|is not defined$|is not iterable/
const TIMEOUT = /^(Exceeded timeout of|thrown: "Exceeded timeout of|Test timed out in|Timeout of \d+ms exceeded|test timed out after)/i
const EXPECTATION = /^expect\(|^Snapshot .*mismatched|toMatchSnapshot|^Expected .*(but|to )|^New snapshot was not written/

function why(error) {
  const facts = factsOf(error)
  return { kind: kindOf(facts), detail: `${facts.name}: ${facts.message}`.split('\n')[0].slice(0, DETAIL) }
}

function factsOf(error) {
  if (error === null || typeof error !== 'object') return parsed(String(error))
  const said = parsed(typeof error.stack === 'string' ? error.stack : '')
  const message = plain(typeof error.message === 'string' ? error.message : said.message)
  const name = typeof error.name === 'string' && error.name ? error.name : said.name
  const code = typeof error.code === 'string' ? error.code : ''
  const isCompared = Boolean(error.matcherResult) || error.showDiff === true
  return { name, message, code, isCompared }
}

// The first line of a stack: `TypeError: x is not a function`.
function parsed(text) {
  const clean = plain(text)
  const found = /^(?:Uncaught )?([A-Za-z_$][\w$.]*(?:Error|Exception|Failure))(?: \[\w+\])?: ?([\s\S]*)$/.exec(clean)
  return found
    ? { name: found[1], message: found[2], code: '', isCompared: false }
    : { name: 'Error', message: clean.replace(/^Error: /, ''), code: '', isCompared: false }
}

function kindOf({ name, message, code, isCompared }) {
  if (TIMEOUT.test(message) || code === 'ERR_MOCHA_TIMEOUT') return 'timeout'
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND' || IMPORT.test(message)) return 'import'
  if (OTHER_THROWN.test(message)) return 'wrong_exception'
  if (isCompared || name.startsWith('AssertionError') || code === 'ERR_ASSERTION' || EXPECTATION.test(message)) {
    return 'assertion'
  }
  if (name === 'ReferenceError' || MISSING.test(message.split('\n')[0])) return 'missing_name'
  if (name === 'SyntaxError' || PARSE.test(message)) return 'collection'
  return 'error'
}

function plain(text) {
  return text.replace(/\u001b\[[0-9;]*m/g, '').trim()
}

module.exports = { why, factsOf }
