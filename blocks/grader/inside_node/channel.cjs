'use strict'
// Writes records to the grader, one line each: the nonce, a blank, a JSON object (the grader's report.py reads them).
// The nonce comes on stdin, which is read before any code of the submission is loaded. The pipe is opened through /proc,
// because a test tool that starts itself anew in a child process passes no descriptors on.
const fs = require('fs')
const path = require('path')
const { why } = require('./failure.cjs')

function openChannel() {
  const orders = JSON.parse(fs.readFileSync(0, 'utf8'))
  const fd = fs.openSync(process.env.GRADER_CHANNEL, 'a')
  delete process.env.GRADER_CHANNEL
  const send = record => {
    let data = Buffer.from(`${orders.nonce} ${JSON.stringify(record)}\n`)
    while (data.length) data = data.subarray(fs.writeSync(fd, data))
  }
  let ended = false
  const file = name => {
    const where = path.relative(orders.workspace, path.resolve(orders.workspace, name || '.'))
    return where.split(path.sep).join('/') || '.'
  }
  return {
    file,
    // `outcome`: passed, failed, skipped or rerun. `phase`: setup or call. `error`: what was thrown, as it is at hand.
    test(where, names, { outcome, error, seconds = 0, phase = 'call', kind, detail, fresh = true }) {
      const id = `${file(where)}::${names.join(' > ')}`
      const told = error ? why(error) : { kind: kind || 'error', detail: detail || '' }
      const failed = outcome === 'failed' || outcome === 'rerun'
      if (fresh) send({ event: 'start', id })
      send({
        event: 'phase', id, phase, outcome, xfail: false, seconds: Math.max(0, seconds) || 0,
        kind: failed ? (phase === 'setup' ? 'setup' : kind || told.kind) : null,
        detail: failed ? told.detail : String(detail || '').slice(0, 300),
      })
      send({ event: 'finish', id })
    },
    // A file that could not be loaded.
    broken(where, error) {
      const told = why(error)
      const kind = told.kind === 'import' ? 'import' : 'collection'
      send({ event: 'collect', id: file(where), kind, detail: told.detail })
    },
    end(code) {
      if (ended) return
      ended = true
      send({ event: 'end', exit_code: code })
    },
  }
}

module.exports = { openChannel }
