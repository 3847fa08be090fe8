// Holdpoint's: tells the observer what becomes of the tests of `node --test`. Loaded into the process that starts a process for
// each test file, before anything of the tree, and used there as a reporter that prints nothing.
'use strict';

const fs = require('node:fs');

const VARIABLE = 'HOLDPOINT_OBSERVER';
const MESSAGE_CHARACTERS = 1000;
const given = process.env[VARIABLE];
let descriptor;
let nonce;

// The processes of the test files have the options of this one, and none of what was given to it.
if (given && !process.env.NODE_TEST_CONTEXT) {
  delete process.env[VARIABLE];
  const bytes = Buffer.alloc(4096);
  descriptor = Number(given.split(':')[0]);
  nonce = bytes.toString('latin1', 0, fs.readSync(descriptor, bytes));
  say('armed');
}

function say(message) {
  if (nonce === undefined) return;
  const text = `${nonce} ${message.slice(0, MESSAGE_CHARACTERS)}`;
  try { fs.writeSync(descriptor, text); } catch { /* Nobody hears it any more: there is no end mark then. */ }
}

function is(mark) {
  return mark !== undefined && mark !== false;
}

/** What became of a test; undefined: nothing that counts. */
function word({ type, data }) {
  const { details, skip, todo } = data;
  if (type === 'test:pass' && details?.type === 'suite') return undefined;
  // A suite that is red because its tests are says nothing new.
  if (type === 'test:fail' && details?.type === 'suite' && details.error?.failureType === 'subtestsFailed') return undefined;
  if (is(skip) || is(todo)) return 'skipped';
  return type === 'test:pass' ? 'passed' : 'failed';
}

/** The events of a run, which are told on their way. */
async function* told(source) {
  let failed = false;
  for await (const event of source) {
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const what = word(event);
      failed ||= what === 'failed';
      if (what) say(`${what} ${event.data.name}`);
    }
    yield event;
  }
  say(`end ${failed ? 1 : 0}`);
}

// A generator without a yield: it reports to nobody else.
module.exports = async function* quiet(source) {
  for await (const _ of told(source));
};
module.exports.told = told;
