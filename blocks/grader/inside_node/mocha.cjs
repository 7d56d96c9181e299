'use strict'
// Reporter for mocha 6 to 11. A test file that cannot be loaded would end the whole run: it is told, and the others run.
const path = require('path')
const { openChannel } = require('./channel.cjs')

const channel = openChannel()
survive()

class Reporter {
  constructor(runner) {
    const seen = new Set()
    const tell = (test, facts) => {
      seen.add(test)
      channel.test(test.file || fileOf(test), titles(test), { seconds: (test.duration || 0) / 1000, ...facts })
    }
    runner.on('pass', test => {
      const isSecond = typeof test.currentRetry === 'function' && test.currentRetry() > 0
      tell(test, { outcome: isSecond ? 'rerun' : 'passed', detail: isSecond ? 'a second try passed' : '' })
    })
    runner.on('pending', test => tell(test, { outcome: 'skipped' }))
    runner.on('fail', (test, error) => {
      if (test.type !== 'hook') return tell(test, { outcome: 'failed', error, fresh: !seen.has(test) })
      for (const one of hit(test)) tell(one, { outcome: 'failed', phase: 'setup', error })
    })
    runner.once('end', () => channel.end(0))
  }

  done(failures, callback) {
    if (callback) callback(failures)
  }
}

// The tests a failed hook keeps from running or makes worthless.
function hit(hook) {
  if (/each/.test(hook.title) && hook.ctx && hook.ctx.currentTest) return [hook.ctx.currentTest]
  const found = []
  if (hook.parent && hook.parent.eachTest) hook.parent.eachTest(test => found.push(test))
  return found.length ? found : [hook]
}

function titles(test) {
  return typeof test.titlePath === 'function' ? test.titlePath() : [test.fullTitle()]
}

function fileOf(test) {
  for (let suite = test.parent; suite; suite = suite.parent) if (suite.file) return suite.file
  return '.'
}

function survive() {
  const ours = Object.keys(require.cache).find(name => name.endsWith(path.join('mocha', 'lib', 'mocha.js')))
  const loader = ours && path.join(path.dirname(ours), 'nodejs', 'esm-utils.js')
  const esm = loader && require.cache[loader] && require.cache[loader].exports
  if (!esm || typeof esm.requireOrImport !== 'function') return
  const load = esm.requireOrImport
  esm.requireOrImport = async (file, ...rest) => {
    try {
      return await load(file, ...rest)
    } catch (error) {
      if (!/\.[cm]?[jt]sx?$/.test(String(file))) throw error
      process.stderr.write(`${(error && error.stack) || error}\n`)
      channel.broken(String(file), error)
      return {}
    }
  }
}

module.exports = Reporter
