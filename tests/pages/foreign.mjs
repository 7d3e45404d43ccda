// Pages of other origins that would change something: with each route that is no GET, by every means
// a page has. The daemon has no tokens, so that nothing but its gate stands in the way; what it was
// asked and answered is read in its log.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { folder } from '../contract/programs.mjs';
import { send } from '../contract/call.mjs';
import { tell } from './place.mjs';

const ENCTYPES = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];
const MODES = ['cors', 'no-cors'];
// An element, and which attribute loads.
const LOADS = { img: 'src', script: 'src', iframe: 'src', embed: 'src', video: 'src', audio: 'src', object: 'data', link: 'href' };
const WATCHED = ['/v1/jobs', '/v1/instances', '/v1/webhooks', '/v1/mode', '/v1/audit'];
const REFUSED = [401, 403, 415];

/** [{method, path}] of api/openapi.yaml. */
export const routesOf = source =>
  Object.entries(parse(readFileSync(join(source, 'api/openapi.yaml'), 'utf8')).paths).flatMap(([path, item]) =>
    ['get', 'post', 'put', 'delete'].filter(method => item[method]).map(method => ({ method: method.toUpperCase(), path })));

/** What a caller of our own would send. */
const bodyOf = (route, place) => ({
  '/v1/jobs': { kind: 'backup_history', instance: place.instance, parameters: {} },
  '/v1/plans': { kind: 'backup_history', instance: place.instance, parameters: {} },
  '/v1/mode': { mode: 'paused' },
  '/v1/instances/{name}': { host: '127.0.0.1', login: 'x', password: { env: 'SWEETSPOT_SECRET_CONTRACT' }, environment: 'test' },
  '/v1/webhooks/{name}': { url: 'https://chat.example/x', format: 'json', events: ['*'] },
}[route.path] ?? {});

const targetOf = (route, place) => route.path
  .replace('{name}', route.path.startsWith('/v1/webhooks') ? place.webhook : place.instance)
  .replace('{id}', route.path.startsWith('/v1/deliveries') ? place.delivery : place.jobs.sweep.id);

/** Status and words of each request in the daemon's log, from a line on. */
function requests(name, from = 0) {
  const lines = readFileSync(join(folder, `${name}.log`), 'utf8').split('\n').filter(line => / event=request /.test(line));
  return lines.slice(from).map(line => ({ method: line.match(/ method="?(\w+)/)[1], target: line.match(/ target="?([^\s"]+)/)[1], status: Number(line.match(/ status=(\d+)/)[1]) }));
}

async function stateOf(daemon) {
  const answers = await Promise.all(WATCHED.map(target => send(daemon.url, { target: target + (target === '/v1/mode' ? '' : '?limit=500') })));
  return answers.map(it => it.body.toString()).join('\n');
}

/** In the page: every way to send something to url. Resolves when each has ended. */
async function attack({ url, method, body, modes, loads }) {
  const quiet = promise => promise.then(() => {}, () => {});
  for (const mode of modes) {
    const simple = mode === 'no-cors';
    const headers = { 'content-type': simple ? 'text/plain' : 'application/json' };
    await quiet(fetch(url, { method: simple ? 'POST' : method, mode, body, headers }));
    await quiet(fetch(url, { mode }));
  }
  await quiet(fetch(url, { method: 'POST', mode: 'no-cors', body: new URLSearchParams({ body }), keepalive: true }));
  navigator.sendBeacon(url, new Blob([body], { type: 'text/plain' }));
  await Promise.all(Object.entries(loads).map(([name, attribute]) => new Promise(done => {
    const element = document.createElement(name);
    if (name === 'link') element.rel = 'stylesheet';
    element.onload = element.onerror = done;
    setTimeout(done, 1000); // some say nothing when they are refused
    element[attribute] = url;
    document.body.append(element);
  })));
}

/** In the page: a form as it would be sent by itself, in this window. */
function submit({ url, enctype, body }) {
  const form = document.createElement('form');
  Object.assign(form, { method: 'POST', action: url, enctype });
  const input = document.createElement('input');
  input.name = body.slice(0, -1);
  input.value = body.slice(-1); // text/plain puts = between the two
  form.append(input);
  document.body.append(form);
  form.submit();
}

export class Foreign {
  constructor(daemon, name, stranger, watch) {
    Object.assign(this, { daemon, name, stranger, watch });
    this.seen = [];
    this.faults = [];
  }

  /** One route from one page of another origin, by every means. */
  async #route(route, place, base) {
    const url = this.daemon.url + targetOf(route, place);
    const body = JSON.stringify(bodyOf(route, place));
    const from = requests(this.name).length;
    await this.watch.visit(base);
    await this.watch.page.evaluate(attack, { url, method: route.method, body, modes: MODES, loads: LOADS });
    for (const enctype of ENCTYPES) {
      await this.watch.visit(base);
      await Promise.all([
        this.watch.page.waitForURL(url),
        this.watch.page.evaluate(submit, { url, enctype, body }),
      ]);
    }
    const made = requests(this.name, from);
    const forms = made.filter(it => it.method === 'POST').length;
    if (forms < ENCTYPES.length) this.faults.push(`only ${forms} POSTs to ${url} came from ${base}`);
    for (const it of made)
      if (!REFUSED.includes(it.status)) this.faults.push(`${it.method} ${it.target} from ${base}: ${it.status}`);
    this.seen.push(...made);
  }

  /** Frames: the gate refuses what a browser tells of; the policy of the page does for others. */
  async #framing(place) {
    const report = `/v1/jobs/${place.jobs.sweep.id}/report`;
    const relayed = await this.stranger.relay('/relayed', this.daemon, report, 'text/html');
    const bare = this.stranger.put('/framed', 'a page that may be framed');
    // what stands there when it is shown; a refusal stands in the frame, too
    for (const [url, text, may] of [[this.daemon.url + report, place.jobs.sweep.id, false], [relayed, place.jobs.sweep.id, false], [bare, 'may be framed', true]]) {
      await this.watch.visit(this.stranger.put('/frame', `<!doctype html><iframe src="${url}"></iframe>`));
      const frame = this.watch.page.frames()[1];
      const shown = (await frame.evaluate(() => document.documentElement.innerText)).includes(text);
      if (shown !== may) this.faults.push(`a frame of ${url} is ${shown ? 'shown' : 'not shown'}`);
    }
  }

  /** What is meant to work: a link that somebody follows. */
  async #link(place) {
    const url = `${this.daemon.url}/v1/jobs/${place.jobs.sweep.id}/report`;
    await this.watch.visit(this.stranger.put('/link', `<!doctype html><a href="${url}">the report</a>`));
    const [answer] = await Promise.all([this.watch.page.waitForResponse(url), this.watch.page.click('a')]);
    if (answer.status() !== 200) this.faults.push(`a link to a report was answered ${answer.status()}`);
  }

  async run(source, place) {
    const routes = routesOf(source).filter(route => route.method !== 'GET');
    const page = this.stranger.put('/attack', '<!doctype html><title>x</title><body>');
    const boxed = this.stranger.put('/boxed', '<!doctype html><title>x</title><body>', { 'content-security-policy': 'sandbox allow-scripts allow-forms' });
    // another port, another name of the machine, and an origin that is "null"
    const bases = [page, page.replace('127.0.0.1', 'localhost'), boxed];
    const deliveries = await send(this.daemon.url, { target: `/v1/webhooks/${place.webhook}/deliveries` });
    place.delivery = deliveries.json.items[0].id;
    await tell(this.daemon, 'POST', '/v1/mode', { mode: 'active' }, [200]);
    const before = await stateOf(this.daemon);
    for (const route of routes) for (const base of bases) await this.#route(route, place, base);
    await this.#framing(place);
    if ((await stateOf(this.daemon)) !== before) this.faults.push('something was changed or made');
    await this.#link(place);
    return { routes: routes.length, origins: bases.length, requests: this.seen.length };
  }
}
