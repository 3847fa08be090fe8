// Holdpoint's: has Jest and Vitest print the names of tests, and says when the process of a test file of `node --test` is ended with 0 before its tests have come to their end.
//
// `node --test` reports such a file as passed, with the tests that it had come to. Loaded into every Node process of a check;
// only that of a test file is looked at, and what it starts does not load this.
'use strict';

const { isMainThread } = require('node:worker_threads');

function look() {
  const options = process.env.NODE_OPTIONS || '';
  const others = options.replace(`--require=${JSON.stringify(__filename)}`, '').trim();
  if (others) process.env.NODE_OPTIONS = others;
  else delete process.env.NODE_OPTIONS;

  let over = false;
  // Not before the event loop is empty, and not at all where something calls for the end.
  process.on('beforeExit', () => { over = true; });
  const exit = process.reallyExit;
  process.reallyExit = (code) => {
    if (!over && !code) {
      const text = `holdpoint: ended before its tests: ${process.argv[1]}\n`;
      try { require('node:fs').writeSync(2, text); } catch { /* Nobody reads it. */ }
    }
    exit.call(process, code);
  };
}

/** Without names a test that went is not missed where another came. */
function name() {
  const [, main = '', ...words] = process.argv;
  const asked = (pattern) => words.some((word) => pattern.test(word));
  if (/(^|\/)jest(\.js)?$/.test(main) && !asked(/^--(verbose|no-verbose|silent|json|reporters|listTests|showConfig|init|version|help|watch)/)) {
    process.argv.splice(2, 0, '--verbose');
  } else if (/(^|\/)vitest(\.mjs)?$/.test(main) && !asked(/^(--(reporter|version|help|watch|ui|api)|bench$|list$|init$|related$|typecheck$)/)) {
    process.argv.push('--reporter=verbose');
  }
}

if (isMainThread) name();
if (isMainThread && process.env.NODE_TEST_CONTEXT) look();
