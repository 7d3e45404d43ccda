// Generated calls: requests that fit the document, which must not be refused for what it does not
// say, and requests that are spoiled, which must not be taken. Every answer must fit it.
import fc from 'fast-check';
import { Draw, badTexts, spoil } from './draw.mjs';
import { EXCEPTIONS } from './exceptions.mjs';
import { prismRequestFaults } from './call.mjs';

// How often an operation is drawn; 1 when it is not here.
const WEIGHTS = { postJob: 12, putInstance: 10, postPlan: 6, putWebhook: 8, listJobs: 4, retryJob: 2, checkInstance: 0.3,
  reconcileInstance: 1, streamEvents: 0.2, getOpenapi: 0.2, getMetrics: 0.5 };
// These reach the instance, or would forget what the others need.
const SAFE_NAMES = { putInstance: ['gen-1', 'gen-2', 'gen.3'], deleteInstance: ['gen-1', 'gen-2', 'gen.3', 'nobody'],
  checkInstance: ['sql01', 'nobody'], reconcileInstance: ['sql01', 'nobody'],
  putWebhook: ['hook-1', 'hook-2'], deleteWebhook: ['hook-1', 'hook-2', 'nobody'] };
const ODD_NAMES = ['UPPER', 'x'.repeat(65), 'a%20b', '%C3%BC', 'a..b', '-', '%25', "a'b", '.hidden'];
const ODD_IDS = ['7', 'x', '01981c5e-7a10-7000-8000-0000000000', '01981C5E-7A10-7000-8000-0000000000FF', 'latest', '%7Bid%7D', '0'.repeat(36)];
const ODD_QUERIES = ['limit=0', 'limit=501', 'limit=-1', 'limit=1.5', 'limit=ten', 'limit=', 'limit=1&limit=2', 'limit=%31%30%30%30',
  'cursor=', 'cursor=%27%20OR%201=1', 'cursor=99999999999999999999', `cursor=${'z'.repeat(65)}`, 'cursor=%E2%98%83',
  'state=finished', 'label=:', 'label=novalue', 'since=tomorrow', 'since=2026-13-01T00:00:00Z', 'wait=-1', 'wait=301', 'wait=1e2', 'unknown=1', 'LIMIT=5'];
const BAD_TARGETS = ['x=%00', 'x=%', 'x=%f', 'x=%FF', '%ff=1'];
const ODD_HEADERS = [
  { prefer: 'wait=abc' }, { prefer: 'respond-async, wait=0' }, { prefer: 'WAIT=0' }, { prefer: 'wait="0"' }, { prefer: ',' },
  { 'if-match': 'garbage' }, { 'if-match': '*' }, { 'if-match': '"a", W/"b"' }, { 'if-none-match': '"unended' }, { 'if-none-match': '*' },
  { accept: '*/*;q=0' }, { accept: ';' }, { accept: 'text/csv;q=0.1, application/json;q=0.2' }, { accept: 'application/*' },
  { 'last-event-id': '99999999999999999999' }, { 'last-event-id': '-' }, { 'x-request-id': 'a b' }, { 'x-request-id': 'y'.repeat(65) },
  { authorization: 'Basic YTpi' }, { authorization: 'Bearer nobody' }, { traceparent: 'zz' }, { 'accept-language': '*' }, { range: 'bytes=0-1' },
  { 'idempotency-key': 'two words' }, { 'idempotency-key': 'x'.repeat(201) },
];
const BAD_TYPES = ['text/plain', 'application/xml', 'application/jsonx', 'application/json; charset=latin1', 'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x', 'application/merge-patch+json', ''];

export class Generated {
  constructor(side, ids, { seed, calls }) {
    Object.assign(this, { side, seed, calls });
    this.draw = new Draw(side.document);
    this.ids = Object.values(ids);
    this.drawn = new Map();
    this.kinds = new Map();
    this.excused = new Map();
    this.taken = new Map(); // bodies that were answered with 2xx
    this.table = side.document.operations.map(operation => ({ operation, weight: WEIGHTS[operation.id] ?? 1 }));
    this.total = this.table.reduce((sum, row) => sum + row.weight, 0);
  }

  /** Draws the next value of an arbitrary. fast-check begins with what is small and odd and goes on to
   * what is large: so a batch at a time. */
  value(key, make) {
    if (!this.drawn.has(key)) this.drawn.set(key, { arbitrary: make(), batch: [] });
    const row = this.drawn.get(key);
    if (row.batch.length === 0) row.batch = fc.sample(row.arbitrary, { seed: this.dice(2 ** 31), numRuns: 50 }).reverse();
    return row.batch.pop();
  }

  /** A whole number from 0 to below `sides` (mulberry32): what is called must follow from the seed. */
  dice(sides) {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * sides);
  }

  chance = share => this.dice(1000000) < share * 1000000;
  pick = list => list[this.dice(list.length)];

  operation() {
    let left = (this.dice(1000000) / 1000000) * this.total;
    for (const { operation, weight } of this.table) {
      if (left < weight) return operation;
      left -= weight;
    }
    return this.table[0].operation;
  }

  async run() {
    this.state = this.seed | 0;
    for (let i = 0; i < this.calls; i++) {
      const operation = this.operation();
      const what = this.chance(0.55) ? 'valid' : 'spoiled';
      this.kinds.set(what, (this.kinds.get(what) ?? 0) + 1);
      if (what === 'valid') await this.valid(operation);
      else await this.spoiled(operation);
    }
    this.say();
  }

  say() {
    console.log(`generated: ${[...this.kinds].map(([what, count]) => `${count} ${what}`).join(', ')}`);
    console.log(`bodies taken: ${[...this.taken].map(([id, count]) => `${count} ${id}`).join(', ')}`);
    for (const [reason, count] of this.excused) console.log(`  refused ${count} times for what a schema does not say: ${reason}`);
  }

  /* --- what fits --------------------------------------------------------------------------- */

  path(operation) {
    const name = this.pick(SAFE_NAMES[operation.id] ?? ['sql01', 'dead', 'dba-chat', 'hook-1', 'gen-1', 'nobody']);
    return operation.path.replace('{name}', name).replace('{id}', this.pick([...this.ids, '01981c5e-7a10-7000-8000-0000000000ff']));
  }

  query(operation) {
    const pairs = operation.parameters.filter(({ it }) => it.in === 'query' && (it.required || this.chance(0.4))).map(({ at, it }) => {
      const pool = { base: this.ids, candidate: this.ids, wait: ['0', '1'], key: ['change-1042', 'retry-1042', 'nobody'], instance: ['sql01', 'nobody'], kind: ['backup_sweep', 'backup_history'] }[it.name];
      const value = pool ? this.pick(pool) : this.value(at.join(), () => this.draw.draw(it.schema, it.name));
      return `${it.name}=${encodeURIComponent(value)}`;
    });
    return pairs.length > 0 ? `?${pairs.join('&')}` : '';
  }

  headers(operation) {
    const values = { Prefer: ['wait=0', 'wait=0, respond-async', 'return=minimal'], 'If-Match': ['"1-1"', '*'], 'If-None-Match': ['"1-1"', '*'],
      'Last-Event-ID': ['0', '1', '12345'] };
    const given = {};
    for (const { at, it } of operation.parameters.filter(({ it }) => it.in === 'header' && this.chance(0.2)))
      given[it.name.toLowerCase()] = values[it.name] ? this.pick(values[it.name]) : this.value(at.join(), () => this.draw.draw(it.schema, it.name));
    const types = Object.keys(Object.entries(operation.responses).find(([status]) => status < 300)[1].it.content ?? {});
    if (types.length > 0 && this.chance(0.2)) given.accept = this.pick(types);
    return given;
  }

  body(operation) {
    if (!operation.body || (!operation.body.required && this.chance(0.5))) return {};
    const schema = operation.body.content['application/json'].schema;
    return { json: structuredClone(this.value(operation.id, () => this.draw.draw(schema))) };
  }

  request(operation) {
    const path = this.path(operation);
    const { json } = this.body(operation);
    if (json?.parameters?.files) for (const target of json.parameters.targets ?? []) delete target.files; // stripes stand in one place
    if (operation.id === 'putInstance' && json.name !== undefined) json.name = path.split('/').at(-1); // the only one that is taken
    return { path, query: this.query(operation), headers: this.headers(operation), ...(json === undefined ? {} : { json }), ...streaming(operation) };
  }

  /** 400, 415 and their like must have a reason that the document gives, or that is written down. */
  async valid(operation, request = this.request(operation)) {
    const { json } = await this.side.call(operation, { ...request, valid: response => {
      const faults = prismRequestFaults(response).map(it => `Prism takes the request for bad: ${it.location.join('/')} ${it.message}`);
      if (request.json !== undefined) faults.push(...this.side.document.faults(operation.body.at, request.json).map(it => `we drew a bad body: ${it}`));
      if (request.json !== undefined) this.taken.set(operation.id, (this.taken.get(operation.id) ?? 0) + (response.status < 300));
      if ([405, 406, 413, 414, 415, 431].includes(response.status)) faults.push(`refused with ${response.status}`);
      if (response.status === 400) faults.push(...this.unexcused(response.json));
      return faults;
    } });
    // what was made (a job, a delivery) is asked for later; the newest ones are kept
    if (['postJob', 'retryJob', 'testWebhook'].includes(operation.id) && json?.id) {
      this.ids.push(json.id);
      if (this.ids.length > 60) this.ids.splice(10, 1); // the first ones are those of the walk
    }
  }

  unexcused(problem) {
    const details = problem.errors?.map(error => `${error.pointer ?? error.parameter} ${error.detail}`) ?? [problem.detail];
    return details.filter(detail => {
      const found = EXCEPTIONS.find(([pattern]) => pattern.test(detail));
      if (found) this.excused.set(found[1], (this.excused.get(found[1]) ?? 0) + 1);
      return !found;
    }).map(detail => `refused though it fits the schema: ${detail}`);
  }

  /* --- what does not ----------------------------------------------------------------------- */

  spoiled(operation) {
    const ways = [() => this.oddHeader(operation), () => this.oddQuery(operation), () => this.oddPath(operation), () => this.badTarget(operation)];
    if (operation.body) for (let i = 0; i < 8; i++) ways.push(() => this.badBody(operation));
    if (operation.body) ways.push(() => this.badText(operation), () => this.badText(operation), () => this.badType(operation));
    return this.pick(ways)();
  }

  badBody(operation) {
    const request = this.request(operation);
    const { how, value } = spoil(request.json ?? {}, this.pick);
    const bad = this.side.document.faults(operation.body.at, value).length > 0;
    if (!bad) return this.valid(operation, { ...request, json: value }); // it still fits
    return this.side.call(operation, { ...request, json: value, refused: `a body that breaks the schema (${how})` });
  }

  badText(operation) {
    const [how, body] = this.pick(badTexts(this.body(operation).json ?? {}));
    return this.side.call(operation, { path: this.path(operation), body, headers: { 'content-type': 'application/json' }, straight: true, refused: how, ...streaming(operation) });
  }

  badType(operation) {
    const type = this.pick(BAD_TYPES);
    return this.side.call(operation, { path: this.path(operation), body: JSON.stringify(this.body(operation).json ?? {}), headers: { 'content-type': type },
      straight: true, status: 415 });
  }

  oddHeader(operation) {
    return this.side.call(operation, { ...this.request(operation), ...streaming(operation), headers: this.pick(ODD_HEADERS), straight: true });
  }

  /** A query parameter that the document does not have, or a value that its schema does not take. */
  oddQuery(operation) {
    const query = this.pick(ODD_QUERIES);
    const [name, ...rest] = query.split('=');
    const parameter = operation.parameters.find(({ it }) => it.in === 'query' && it.name === name)?.it;
    const value = decodeURIComponent(rest.join('='));
    const typed = this.draw.deref(parameter?.schema ?? {}).type === 'integer' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    const bad = !parameter || query.includes('&') || this.side.document.faults([...this.parameterAt(operation, name), 'schema'], typed).length > 0;
    const lenient = !operation.path.startsWith('/v1/'); // probes and scrapers add what they like
    return this.side.call(operation, { ...this.request(operation), query: `?${query}`, straight: true,
      ...(bad && !lenient ? { refused: `the query ${query}` } : {}) });
  }

  parameterAt(operation, name) {
    return operation.parameters.find(({ it }) => it.in === 'query' && it.name === name).at;
  }

  badTarget(operation) {
    return this.side.call(operation, { ...this.request(operation), query: `?${this.pick(BAD_TARGETS)}`, straight: true, refused: 'a target that cannot be decoded' });
  }

  oddPath(operation) {
    if (!operation.path.includes('{')) return this.valid(operation);
    const path = operation.path.replace('{name}', this.pick(ODD_NAMES)).replace('{id}', this.pick(ODD_IDS));
    return this.side.call(operation, { ...this.request(operation), path, straight: true,
      ...(path.includes('0FF') || /a\.\.b|\/-|\.hidden/.test(path) ? {} : { refused: 'a name or id that cannot be' }) });
  }
}

/** A stream is looked at for a moment only. */
const streaming = operation => (operation.path.endsWith('/events') ? { straight: true, cut_ms: 30 } : {});
