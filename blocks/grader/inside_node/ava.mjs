// Preloaded into ava 3 to 6, which takes no reporters: listens to what its TAP reporter is told.
import { createRequire } from 'node:module'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const root = process.env.GRADER_AVA
if (root && process.env.GRADER_CHANNEL) {
  delete process.env.GRADER_AVA
  const require = createRequire(import.meta.url)
  const { openChannel } = require('./channel.cjs')
  const place = path.join(root, 'lib', 'reporters', 'tap.js')
  if (existsSync(place)) {
    const module = await import(pathToFileURL(place))
    const Reporter = typeof module.default === 'function' ? module.default : module.default.default
    listen(Reporter, openChannel())
  }
}

function listen(Reporter, channel) {
  const { startRun, endRun } = Reporter.prototype
  Reporter.prototype.startRun = function (plan) {
    const prefixes = new Map()
    plan.status.on('stateChange', event => tell(channel, event, prefixes))
    return startRun.call(this, plan)
  }
  Reporter.prototype.endRun = function (...rest) {
    channel.end(0)
    return endRun.apply(this, rest)
  }
}

function tell(channel, event) {
  const seconds = (event.duration || 0) / 1000
  if (event.type === 'test-passed' && !event.knownFailing) {
    channel.test(event.testFile, [event.title], { outcome: 'passed', seconds })
  } else if (event.type === 'test-passed') {
    channel.test(event.testFile, [event.title], { outcome: 'skipped', detail: 'expected to fail' })
  } else if (event.type === 'test-failed') {
    channel.test(event.testFile, [event.title], { outcome: 'failed', error: thrown(event.err), seconds })
  } else if (event.type === 'selected-test' && (event.skip || event.todo)) {
    channel.test(event.testFile, [event.title], { outcome: 'skipped' })
  } else if (event.type === 'hook-failed') {
    channel.test(event.testFile, [event.title], { outcome: 'failed', phase: 'setup', error: thrown(event.err), seconds })
  } else if (event.type === 'uncaught-exception' || event.type === 'unhandled-rejection') {
    if (event.testFile) channel.broken(event.testFile, thrown(event.err))
  }
}

// ava 3 to 5 hand over a serialized error; ava 6 wraps the original one.
function thrown(error) {
  if (!error) return 'failed'
  // What a test throws by itself is wrapped; the stack is that of what was thrown.
  if (/^(Error thrown in|Rejected promise returned by) test/.test(error.message || '')) return String(error.stack || error.message)
  const original = error.originalError || error.object || {}
  // What an assertion found beside its message, e.g. "Function threw unexpected exception:".
  const labels = [error, original].flatMap(one => one.formattedDetails || one.values || []).map(one => one.label || '')
  const isAssertion = error.avaAssertionError || error.type === 'ava' || error.name === 'AssertionError'
  return {
    name: isAssertion ? 'AssertionError' : error.name || original.name,
    message: [error.message || original.message || '', ...new Set(labels)].join(' ').trim(),
    code: error.code || original.code,
    stack: error.stack || original.stack,
  }
}
