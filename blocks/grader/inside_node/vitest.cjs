'use strict'
// Reporter for vitest 0.30 to 4. Up to 3 the end is told by onFinished, from 3 on by onTestRunEnd.
const { openChannel } = require('./channel.cjs')

const channel = openChannel()

class Reporter {
  onFinished(files = [], errors = []) {
    this.finish(files, errors)
  }

  onTestRunEnd(modules = [], errors = [], reason) {
    this.finish(modules.map(module => module.task), errors, reason)
  }

  finish(files, errors, reason) {
    if (this.done) return
    this.done = true
    for (const file of files) this.file(file)
    for (const error of errors) process.stderr.write(`unhandled: ${(error && (error.stack || error.message)) || error}\n`)
    channel.end(reason === 'interrupted' ? 2 : 0)
  }

  file(file) {
    const [error] = errorsOf(file)
    const tests = [...leaves(file, [], file.mode === 'skip')]
    if (error && tests.every(({ test }) => !test.result || test.result.state === 'skip')) channel.broken(file.filepath, error)
    for (const { test, names, suite } of tests) this.test(file.filepath, test, names, suite || error)
  }

  test(file, test, names, suiteError) {
    const result = test.result || {}
    const seconds = (result.duration || 0) / 1000
    const [error] = errorsOf(test)
    if (result.state === 'pass') {
      const isSecond = Boolean(result.retryCount)
      channel.test(file, names, { outcome: isSecond ? 'rerun' : 'passed', seconds, detail: isSecond ? 'a second try passed' : '' })
    } else if (result.state === 'fail') {
      channel.test(file, names, { outcome: 'failed', error: error || 'failed', seconds })
    } else if (suiteError && test.mode === 'run') {
      channel.test(file, names, { outcome: 'failed', phase: 'setup', error: suiteError, seconds })
    } else {
      channel.test(file, names, { outcome: 'skipped', seconds, detail: (result.note || test.mode || '').toString() })
    }
  }
}

function* leaves(suite, names, skipped, suiteError) {
  for (const task of suite.tasks || []) {
    const path = [...names, task.name]
    if (task.type === 'suite') yield* leaves(task, path, skipped, suiteError || errorsOf(task)[0])
    else yield { test: task, names: path, suite: suiteError }
  }
}

function errorsOf(task) {
  const result = task.result || {}
  return result.errors || (result.error ? [result.error] : [])
}

module.exports = Reporter
module.exports.default = Reporter
