'use strict'
// Preloaded into bun, which takes no reporters: takes the nonce before any test file is loaded, and says with it that
// the tests came to their end. What they gave bun writes itself, as JUnit, into the same pipe.
const { afterAll } = require('bun:test')
const { openChannel } = require('./channel.cjs')

const channel = openChannel()
afterAll(() => channel.end(0))
