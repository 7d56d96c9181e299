'use strict'
// Reporter for jest 24 to 30. Runs in jest's own process; tests run in others, or in contexts of their own.
const { openChannel } = require('./channel.cjs')

const channel = openChannel()
const OUTCOMES = { passed: 'passed', failed: 'failed' }

class Reporter {
  onTestResult(test, result) {
    for (const one of result.testResults) {
      const [detail] = one.failureDetails || []
      const isTelling = detail && typeof detail === 'object' && (detail.message || detail.matcherResult)
      channel.test(result.testFilePath, [...one.ancestorTitles, one.title], {
        outcome: one.invocations > 1 && one.status === 'passed' ? 'rerun' : OUTCOMES[one.status] || 'skipped',
        // jest says nothing of hooks; the frame of its own that called one is in the stack.
        phase: /\b_callCircusHook\b/.test((one.failureMessages || [])[0] || '') ? 'setup' : 'call',
        error: one.status === 'failed' ? (isTelling ? told(detail, one) : (one.failureMessages || [])[0]) : undefined,
        seconds: (one.duration || 0) / 1000,
      })
    }
    if (result.testExecError || (result.failureMessage && !result.testResults.length)) {
      channel.broken(result.testFilePath, execError(result))
    }
  }

  onRunComplete(contexts, results) {
    channel.end(results.wasInterrupted ? 2 : results.success ? 0 : 1)
  }

  getLastError() {}
}

// The error has lost its class on the way from another process: the message text still begins with its name.
function told(detail, one) {
  const stack = detail.stack || (one.failureMessages || [])[0] || ''
  return { message: detail.message, stack, code: detail.code, matcherResult: detail.matcherResult, name: named(detail, stack) }
}

function named(detail, stack) {
  if (detail.name && detail.name !== 'Error') return detail.name
  const found = /^([A-Za-z_$][\w$.]*(?:Error|Exception))\b/.exec(stack)
  return found ? found[1] : detail.name
}

function execError(result) {
  const error = result.testExecError || {}
  const text = result.failureMessage || ''
  return { message: error.message || text.replace(/^.*Test suite failed to run\s*/s, ''), stack: error.stack, code: error.code || error.type }
}

module.exports = Reporter
