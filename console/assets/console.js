// Follows the page that is open, sends what a person decides, and says how long ago things were. Markup comes from the console alone,
// which escapes everything that is not its own.
'use strict';

const body = document.body;
const base = body.dataset.base;
const main = document.getElementById('main');
const notice = document.getElementById('notice');
const link = document.getElementById('link');
const waits = document.getElementById('waits');

function say(text, bad) {
  notice.textContent = text;
  notice.classList.toggle('bad', Boolean(bad));
}

// How long ago, next to every time that is shown.
function ages() {
  const now = Date.now();
  for (const time of main.querySelectorAll('time')) {
    const seconds = Math.round((now - Date.parse(time.dateTime)) / 1000);
    const of = Math.abs(seconds);
    const [count, unit] = of < 90 ? [of, 's'] : of < 5400 ? [Math.round(of / 60), 'min'] : of < 129600 ? [Math.round(of / 3600), 'h'] : [Math.round(of / 86400), 'd'];
    time.title = time.dateTime;
    time.textContent = seconds >= 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`;
  }
}

// Makes `old` like `fresh` and keeps what a person did to it: words, focus, what is open, how far it is scrolled.
function morph(old, fresh) {
  const kept = ['open', 'title'];
  if (old.dataset && 'lines' in old.dataset) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  const fits = (a, b) => a && a.nodeName === b.nodeName && (a.nodeType !== 1 || (a.id === b.id && a.getAttribute('class') === b.getAttribute('class') && same(a, b)));
  let at = 0;
  for (const node of after) {
    let found = at;
    while (found < before.length && !fits(before[found], node)) found += 1;
    if (found === before.length) {
      old.insertBefore(document.adoptNode(node), before[at] || null);
      continue;
    }
    for (; at < found; at += 1) before[at].remove();
    if (node.nodeType === 1) morph(before[at], node);
    else if (before[at].nodeValue !== node.nodeValue) before[at].nodeValue = node.nodeValue;
    at += 1;
  }
  for (; at < before.length; at += 1) before[at].remove();
}

// A form is the same one only if it is about the same thing.
function same(a, b) {
  const about = (form) => [...form.querySelectorAll('input[type=hidden]')].map((field) => field.value).join(' ');
  if (a.nodeName === 'FORM') return about(a) === about(b);
  if (a.nodeName === 'A') return a.getAttribute('href') === b.getAttribute('href');
  return true;
}

function show(data) {
  const fresh = new DOMParser().parseFromString(`<!doctype html><main id="main" tabindex="-1">${data.main}</main>`, 'text/html');
  morph(main, fresh.getElementById('main'));
  waits.hidden = !data.waits;
  waits.textContent = data.waits || 0;
  ages();
}

function hear(data) {
  const live = document.getElementById('said');
  if (!live) return;
  const stays = live.scrollTop + live.clientHeight >= live.scrollHeight - 4;
  const left = data.left_out ? ` (${data.left_out} left out before)` : '';
  const line = document.createElement('span');
  line.textContent = `${data.at.slice(11, 19)} ${data.agent} ${data.kind}: ${data.text}${left}\n`;
  live.append(line);
  while (live.childNodes.length > Number(live.dataset.lines)) live.firstChild.remove();
  if (stays) live.scrollTop = live.scrollHeight;
}

function follow() {
  const of = body.dataset.follow;
  if (!of || !window.EventSource) return;
  const query = new URLSearchParams({ of, mark: body.dataset.mark });
  const stream = new EventSource(`${base}/stream?${query}`);
  const read = (how) => (event) => how(JSON.parse(event.data));
  stream.onopen = () => { link.textContent = 'live'; };
  stream.onerror = () => { link.textContent = stream.readyState === 2 ? 'not live: reload the page' : 'not live: connecting'; };
  stream.addEventListener('page', read((data) => { link.textContent = 'live'; show(data); }));
  stream.addEventListener('said', read(hear));
  stream.addEventListener('trouble', (event) => { link.textContent = `not live: ${event.data}`; });
}

document.addEventListener('submit', async (event) => {
  const form = event.target;
  event.preventDefault();
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) return;
  const button = event.submitter || form.querySelector('button');
  const fields = new URLSearchParams(new FormData(form, button));
  button.disabled = true;
  say('Sent; waiting for the orchestrator …');
  // Browsers break off what they sent when a network of the machine comes or goes, those of containers too. Looking again is safe.
  const looks = button.value === 'look';
  const send = () => fetch(form.action, { method: 'POST', body: fields });
  try {
    const answer = await (looks ? send().catch(send) : send());
    const words = await answer.text();
    const into = answer.ok && form.dataset.into && document.getElementById(form.dataset.into);
    if (into) {
      into.replaceChildren(...new DOMParser().parseFromString(words, 'text/html').body.childNodes);
      say('');
    } else say(words || `not done (${answer.status})`, !answer.ok);
    if (answer.ok && !('keeps' in form.dataset)) form.reset();
  } catch {
    say(looks ? 'The console does not answer. Does it still run?'
      : 'The connection broke off, and nobody knows whether this was done: load the page again to see.', true);
  }
  button.disabled = false;
});

// A file that was picked fills the field that it names.
document.addEventListener('change', async (event) => {
  const { fills } = event.target.dataset;
  const [file] = event.target.files || [];
  const field = fills && document.getElementById(fills);
  if (!field || !file) return;
  if (file.size > Number(field.maxLength)) say(`${file.name} has more than ${field.maxLength} bytes: use holdpoint submit`, true);
  else field.value = await file.text();
});

ages();
setInterval(ages, 10000);
follow();
