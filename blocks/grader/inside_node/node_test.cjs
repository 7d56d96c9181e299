'use strict'
// Reporter for node --test, from the first Node.js that takes reporters (18.15, 19.6).
const path = require('path')
const { openChannel } = require('./channel.cjs')

const channel = openChannel()

module.exports = async function* reporter(source) {
  const open = []
  const said = new Map()
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      open.length = data.nesting
      open[data.nesting] = { name: data.name, file: data.file, parts: 0 }
      if (data.nesting) open[data.nesting - 1].parts += 1
    } else if (type === 'test:pass' || type === 'test:fail') {
      tell(type === 'test:pass', data, open, said)
    } else if (type === 'test:stderr' || type === 'test:stdout') {
      const file = path.resolve(data.file || '.')
      if (type === 'test:stderr') said.set(file, ((said.get(file) || '') + data.message).slice(-20000))
      yield data.message
    }
  }
  channel.end(0)
}

function tell(passed, data, open, said) {
  const own = open[data.nesting] || { parts: 0 }
  const names = [...open.slice(0, data.nesting).map(one => one.name), data.name]
  const isFile = data.nesting === 0 && (data.name === data.file || /\.[cm]?[jt]sx?$/.test(data.name) && !data.file)
  const error = passed ? undefined : causeOf(data.details && data.details.error)
  if (isFile || isFileOf(data, open)) return fileEnded(passed, data, own, error, said)
  const file = data.file || (open[0] && open[0].name) || '.'
  if (!data.file) names.shift()
  const isSuite = own.parts > 0 || (data.details && data.details.type === 'suite')
  if (isSuite && (passed || error.failureType === 'subtestsFailed')) return
  const isOff = data.skip !== undefined || data.todo !== undefined
  channel.test(file, names, {
    outcome: isOff ? 'skipped' : passed ? 'passed' : 'failed',
    error: error && error.thrown,
    phase: error && error.failureType === 'hookFailed' ? 'setup' : 'call',
    kind: error && error.failureType === 'testTimeoutFailure' ? 'timeout' : undefined,
    seconds: ((data.details && data.details.duration_ms) || 0) / 1000,
    detail: typeof data.skip === 'string' ? data.skip : '',
  })
}

// Where each file is a process of its own, the file itself may come as a test around its tests.
function isFileOf(data, open) {
  return data.nesting === 0 && typeof data.file === 'string' && data.file.endsWith(`/${data.name}`)
}

function fileEnded(passed, data, own, error, said) {
  if (passed || error.failureType === 'subtestsFailed' || own.parts) return
  const file = data.file || data.name
  channel.broken(file, lastWords(said.get(path.resolve(file))) || error.thrown)
}

// The error that ended the file's process: the process itself only says that it failed.
function lastWords(text) {
  const found = /^(?:Uncaught )?((?:[A-Z]\w*)?Error)(?: \[(\w+)\])?: (.*)$/m.exec(text || '')
  return found ? { name: found[1], code: found[2], message: found[3] } : undefined
}

function causeOf(error) {
  if (!error) return { failureType: '', thrown: 'failed' }
  const cause = error.cause === undefined ? error : error.cause
  return { failureType: error.failureType || '', thrown: cause }
}
