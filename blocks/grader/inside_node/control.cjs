'use strict'
// The control run: one test that passes and one that fails, told as the reporters tell theirs.
const assert = require('assert')
const { openChannel } = require('./channel.cjs')

const channel = openChannel()
for (const [name, sum] of [['right', 2], ['wrong', 3]]) {
  try {
    assert.strictEqual(1 + 1, sum)
    channel.test('control', [name], { outcome: 'passed' })
  } catch (error) {
    channel.test('control', [name], { outcome: 'failed', error })
  }
}
channel.end(0)
