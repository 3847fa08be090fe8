// Holdpoint's: prints what `node --test` prints where nobody asks for anything else, and tells the observer.
'use strict';

const { Readable } = require('node:stream');
const { spec, tap } = require('node:test/reporters');
const { told } = require('./node_observer.cjs');

// Since then a file or pipe is reported to as a terminal is.
const SPEC_EVERYWHERE = 23;
const taps = !process.stdout.isTTY && Number(process.versions.node.split('.')[0]) < SPEC_EVERYWHERE;

module.exports = async function* shown(source) {
  const events = told(source);
  yield* taps ? tap(events) : Readable.from(events).compose(new spec());
};
