// The browser test. Shows first that its counters count, then fills a daemon with hostile texts and
// looks at everything it answers, then attacks it from pages of other origins.
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { folder, startDaemon, stop, stopAll } from '../contract/programs.mjs';
import { send } from '../contract/call.mjs';
import { startBrowser, Watch } from './browser.mjs';
import { Foreign } from './foreign.mjs';
import { payloadsOf } from './payloads.mjs';
import { fields, furnish } from './place.mjs';
import { Stranger } from './stranger.mjs';

const source = process.env.SWEETSPOT_SOURCE;
const { values: options } = parseArgs({ options: {
  payloads: { type: 'string', default: '1000' },
  screenshots: { type: 'string' },
  build: { type: 'string', default: join(source, 'build') },
} });
const named = path => resolve(process.env.SWEETSPOT_FOLDER ?? '.', path);
const build = named(options.build);
const secret = { SWEETSPOT_SECRET_CONTRACT: 'Sweetspot-1' };
const HTML = 'text/html';
const SHOWN = 40; // faults that are told
const faults = [];

/** What would happen without us: each payload in a page that takes it for markup, and in one that has
 * our policy. Resolves with how many did something in the first. */
async function control(browser, stranger, payloads, policy) {
  const host = await Stranger.start(); // the payloads' own host is another one
  const bare = await Watch.open(browser, host.url);
  const guarded = await Watch.open(browser, host.url);
  let active = 0;
  for (const [index, payload] of payloads.entries()) {
    const before = bare.bad;
    const page = `<!doctype html><title>x</title><body>${payload}`;
    await bare.visit(host.put(`/bare/${index}`, page));
    active += bare.bad > before;
    await guarded.visit(host.put(`/guarded/${index}`, page, { 'content-security-policy': policy }));
  }
  console.log(`control: ${active} of ${payloads.length} payloads do something where nothing is escaped: ` +
    `${bare.executions} executions, ${bare.dialogs} dialogs, ${bare.foreign} foreign requests; ` +
    `under our policy ${guarded.executions} executions, ${guarded.reports} CSP reports`);
  if (active * 2 < payloads.length || !bare.executions || !bare.dialogs || !bare.foreign || !guarded.reports)
    faults.push('the control sees too little');
  if (guarded.executions || guarded.dialogs) faults.push(`the policy lets something run: ${guarded.told.slice(0, 3)}`);
  await bare.close();
  await guarded.close();
  host.stop();
  stranger.asked = [];
}

/** [target, accept] of all that can be read of one job, and of one place. */
const pagesOfJob = job => [
  [`/v1/jobs/${job.id}/report`, HTML], [`/v1/jobs/${job.id}/report`, 'text/markdown'], [`/v1/jobs/${job.id}/report`, 'application/json'],
  [`/v1/jobs/${job.id}`], [`/v1/jobs/${job.id}/trials`], [`/v1/jobs/${job.id}/trials`, 'text/csv'],
  [`/v1/jobs/${job.id}/evidence`], [`/v1/jobs/${job.id}/verdict`], [`/v1/jobs/${job.id}/events`],
];
function pagesOfPlace(place, payload) {
  const text = encodeURIComponent(payload);
  const database = encodeURIComponent(place.value.database);
  return [
    [`/v1/instances/${place.instance}`], [`/v1/webhooks/${place.webhook}`], [`/v1/webhooks/${place.webhook}/deliveries`],
    [`/v1/jobs?instance=${place.instance}`], [`/v1/trends?instance=${place.instance}&kind=backup_sweep&database=${database}`],
    [`/v1/compare?base=${place.jobs.sweep.id}&candidate=${place.jobs.sweep.id}`],
    // problems that say what was asked
    [`/${text}`], [`/v1/jobs/${text}`], [`/v1/instances/${text}`], [`/v1/jobs?cursor=${text}`], [`/v1/jobs?${text}=1`],
    [`/v1/jobs?label=${text}`], [`/v1/jobs?state=${text}`], [`/v1/verdict?key=${text}`], [`/v1/trends?instance=${text}&kind=${text}`],
    [`/openapi.yaml?${text}`], [`/v1/jobs/${place.jobs.sweep.id}/report`, `text/${payload.replace(/[^ -~]/g, '')}`],
  ];
}
const general = ['/v1/jobs?limit=500', '/v1/instances?limit=500', '/v1/webhooks?limit=500', '/v1/audit?limit=500', '/v1/kinds',
  '/v1/mode', '/metrics', '/openapi.yaml', '/livez', '/readyz'].map(target => [target]);

/** Looks at pages; notes which fields turned up where. */
class Tour {
  shown = new Set(); // fields in a report that a browser shows
  answered = new Set(); // in any answer

  constructor(daemon, watch) {
    Object.assign(this, { daemon, watch });
  }

  async see([target, accept]) {
    const { body, headers } = await send(this.daemon.url, { target, headers: accept ? { accept } : {}, cut_ms: target.endsWith('/events') ? 500 : 0 });
    const text = body.toString();
    for (const [field, mark] of Object.entries(fields)) if (text.includes(mark)) this.answered.add(field);
    if (headers['x-content-type-options'] !== 'nosniff') faults.push(`${target} may be taken for another type`);
    await this.watch.visit(this.daemon.url + target, accept);
    if (accept !== HTML) return;
    const seen = await this.watch.page.evaluate(() => document.body.innerText);
    for (const [field, mark] of Object.entries(fields)) if (seen.includes(mark)) this.shown.add(field);
    const aliens = await this.watch.aliens();
    if (aliens.length > 0) faults.push(`${target} holds ${aliens[0]}`);
  }
}

async function screenshots(browser, daemon, place) {
  const to = named(options.screenshots);
  mkdirSync(to, { recursive: true });
  for (const [name, view] of [['wide', { viewport: { width: 1280, height: 900 } }], ['narrow', { viewport: { width: 390, height: 844 } }],
    ['dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }]]) {
    const page = await browser.newPage(view);
    for (const [kind, job] of Object.entries(place.jobs)) {
      await page.goto(`${daemon.url}/v1/jobs/${job.id}/report`);
      await page.screenshot({ path: join(to, `${kind}-${name}.png`), fullPage: true });
    }
    await page.close();
  }
}

/** Each payload in each field, and every page. Resolves with the last place, still there. */
async function hostile(browser, daemon, stranger, payloads) {
  const watch = await Watch.open(browser, daemon.url);
  const tour = new Tour(daemon, watch);
  let place = null;
  for (const [index, payload] of payloads.entries()) {
    if (place) await stop(place.simulator);
    place = await furnish(build, daemon, index, payload, stranger.host);
    for (const job of Object.values(place.jobs)) for (const page of pagesOfJob(job)) await tour.see(page);
    for (const page of pagesOfPlace(place, payload)) await tour.see(page);
    if (index === 0 && options.screenshots) await screenshots(browser, daemon, place);
  }
  for (const page of general) await tour.see(page);
  for (const field of Object.keys(fields)) if (!tour.answered.has(field)) faults.push(`"${field}" reached no answer: nothing is shown of it`);
  if (stranger.asked.length > 0) faults.push(`somebody else was asked: ${stranger.asked.slice(0, 3)}`);
  if (watch.bad > 0) faults.push(...watch.told);
  console.log(`fields that the pages of reports show: ${[...tour.shown].join(', ')}; elsewhere: ` +
    Object.keys(fields).filter(it => !tour.shown.has(it)).join(', '));
  console.log(`${watch.loads} pages (${watch.downloads} as downloads): ${watch.executions} executions, ${watch.errors} page errors, ` +
    `${watch.foreign} requests elsewhere, ${watch.popups} pop-ups`);
  await watch.close();
  return { place, watch };
}

async function attacks(browser, daemon, stranger, place) {
  const watch = await Watch.open(browser, stranger.url);
  const foreign = new Foreign(daemon, 'open', stranger, watch);
  const counts = await foreign.run(source, place);
  faults.push(...foreign.faults);
  console.log(`${counts.routes} routes that change something, from ${counts.origins} other origins: ${counts.requests} requests came`);
  await watch.close();
  return { ...counts, accepted: foreign.seen.filter(it => it.status < 400).length };
}

async function main() {
  for (const name of ['sweetspotd', 'mssqlsim'])
    if (!existsSync(join(build, name))) throw new Error(`there is no ${join(build, name)}; build first`);
  const browser = await startBrowser();
  const stranger = await Stranger.start();
  const all = payloadsOf(stranger.host);
  const payloads = all.slice(0, Number(options.payloads));
  const daemon = await startDaemon(build, 'open', ['--webhooks-allow', '127.0.0.1', '--log-level', 'debug'], secret);
  const first = await furnish(build, daemon, 'first', 'plain', stranger.host);
  const report = await send(daemon.url, { target: `/v1/jobs/${first.jobs.sweep.id}/report`, headers: { accept: HTML } });
  await control(browser, stranger, all, report.headers['content-security-policy']);
  await stop(first.simulator);
  const { place, watch } = await hostile(browser, daemon, stranger, payloads);
  const counts = await attacks(browser, daemon, stranger, place);
  await stop(place.simulator);
  await browser.close();
  stranger.stop();
  await stop(daemon);
  for (const fault of faults.slice(0, SHOWN)) console.log(`FAILED ${fault.replaceAll('\n', ' ').slice(0, 300)}`);
  if (faults.length > SHOWN) console.log(`FAILED and ${faults.length - SHOWN} more`);
  console.log(`T-43: ${payloads.length} payloads x ${Object.keys(fields).length} fields x ${watch.loads} pages: ` +
    `${watch.dialogs} dialogs, ${watch.reports} CSP reports; ${counts.requests} foreign requests: ${counts.accepted} accepted`);
  return faults.length === 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    stopAll();
    process.exit(1);
  });

let status = 1;
try {
  status = await main();
} catch (error) {
  console.log(error);
} finally {
  stopAll();
}
process.exit(status);
