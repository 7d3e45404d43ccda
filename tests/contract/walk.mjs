// The scripted walk: every route, and every documented status that can be provoked.
import http from 'node:http';
import net from 'node:net';
import { pause } from './programs.mjs';
import { send, sendRaw } from './call.mjs';

const NOWHERE = '01981c5e-7a10-7000-8000-0000000000ff';
const FOLDER = '/var/opt/mssql/backup';

export const instanceOf = port => ({
  host: '127.0.0.1', port, login: 'sa', password: { env: 'SWEETSPOT_SECRET_CONTRACT' }, encryption: 'request',
  environment: 'test', allow: { paths: [FOLDER], trace_flags: [3042], custom_sql: true },
  custom_login: 'walker', custom_password: { env: 'SWEETSPOT_SECRET_CONTRACT' },
});

const design = { repetitions: 2, seed: 42 };
export const jobs = {
  sweep: { kind: 'backup_sweep', instance: 'sql01', design: { ...design, repetitions: 3 }, labels: { change: 'CHG-1042' },
    parameters: { database: 'Sales', buffercount: ['default', 50, 100], confirm_on: { name: 'disk', paths: [FOLDER] } } },
  race: { kind: 'backup_sweep', instance: 'sql01', design: { ...design, repetitions: 5, search: 'race' }, baseline: 'latest',
    parameters: { database: 'Sales', buffercount: ['default', 7, 50, 100, 200] } },
  throughput: { kind: 'backup_throughput', instance: 'sql01', design,
    parameters: { databases: ['Sales'], targets: [{ name: 'disk', paths: [FOLDER], files: 2 }], compression: 'on' } },
  flag: { kind: 'trace_flag', instance: 'sql01', design,
    parameters: { databases: ['AdventureWorks'], target: { name: 'disk', paths: [FOLDER] } } },
  snapshot: { kind: 'snapshot_overhead', instance: 'sql01', design,
    parameters: { database: 'AdventureWorks', snapshots: [0, 1, 2], locations: [{ name: 'disk', path: FOLDER }],
      workload: { sql: 'SELECT COUNT(*) FROM sys.databases' } } },
  history: { kind: 'backup_history', instance: 'sql01', parameters: {} },
  failing: { kind: 'backup_sweep', instance: 'sql01', design, parameters: { database: 'Missing', buffercount: [10, 20] } },
};

export class Walk {
  constructor(side, simulatorPort) {
    this.side = side;
    this.port = simulatorPort;
    this.ids = {};
  }

  op(name) {
    const [method, path] = name.split(' ');
    const operation = this.side.document.operation(method, path);
    if (!operation) throw new Error(`the document has no ${name}`);
    return operation;
  }

  call(name, options = {}) {
    const { id, named, ...rest } = options;
    const operation = this.op(name);
    const path = operation.path.replace('{id}', id ?? NOWHERE).replace('{name}', named ?? 'sql01');
    return this.side.call(operation, { path, ...rest });
  }

  async whole() {
    await this.instances();
    await this.runJobs();
    await this.reading();
    await this.endedJobs();
    await this.webhooks();
    await this.waitingJobs();
    await this.service();
    await this.generic();
    await this.full();
  }

  async instances() {
    const put = 'PUT /v1/instances/{name}';
    const json = instanceOf(this.port);
    await this.call(put, { json, status: 201 });
    const { headers } = await this.call(put, { json, status: 200 });
    await this.call(put, { json, headers: { 'if-none-match': '*' }, status: 412 });
    await this.call(put, { json, headers: { 'if-match': '"0-0"' }, status: 412 });
    await this.call(put, { json, headers: { 'if-match': headers.etag }, status: 200 });
    await this.call(put, { json: { ...json, hosts: 1 }, status: 400 });
    await this.call(put, { json, named: 'UPPER', status: 400, straight: true });
    await this.call(put, { json: { ...json, port: 1 }, named: 'dead', status: 201 });
    await this.call(put, { json: { ...json, environment: 'production' }, named: 'prod', status: 201 });
    const shown = await this.call('GET /v1/instances/{name}', { status: 200 });
    await this.call('GET /v1/instances/{name}', { headers: { 'if-none-match': shown.headers.etag }, status: 304 });
    await this.call('GET /v1/instances/{name}', { named: 'nobody', status: 404 });
    await this.call(put, { json: shown.json, status: 200 }); // what is read can be written
    await this.call('GET /v1/instances', { status: 200 });
    const page = await this.call('GET /v1/instances', { query: '?limit=1', status: 200 });
    await this.call('GET /v1/instances', { query: `?limit=1&cursor=${page.json.next_cursor}`, status: 200 });
    await this.call('GET /v1/instances', { query: '?limit=501', status: 400 });
    await this.call('POST /v1/instances/{name}/check', { status: 200 });
    await this.call('POST /v1/instances/{name}/check', { json: {}, status: 200 });
    await this.call('POST /v1/instances/{name}/check', { named: 'dead', status: 200 });
    await this.call('POST /v1/instances/{name}/check', { named: 'nobody', status: 404 });
    await this.call('POST /v1/instances/{name}/check', { json: { now: true }, status: 400 });
    await this.call('POST /v1/instances/{name}/reconcile', { json: { dry_run: true }, status: 200 });
    await this.call('POST /v1/instances/{name}/reconcile', { status: 200 });
    await this.call('POST /v1/instances/{name}/reconcile', { named: 'nobody', status: 404 });
    await this.call('POST /v1/instances/{name}/reconcile', { json: { dry_run: 1 }, status: 400 });
    await this.call('DELETE /v1/instances/{name}', { named: 'nobody', status: 404 });
    await this.call(put, { json: { ...json, port: 1 }, named: 'gone', status: 201 });
    await this.call('DELETE /v1/instances/{name}', { named: 'gone', headers: { 'if-match': '"0-0"' }, status: 412 });
    await this.call('DELETE /v1/instances/{name}', { named: 'gone', status: 204 });
  }

  async runJobs() {
    const post = 'POST /v1/jobs';
    for (const [name, json] of Object.entries(jobs)) {
      const { json: job } = await this.call(post, { json, headers: { prefer: 'wait=30' }, status: 202 });
      this.ids[name] = job.id;
      if (!job.finished_at) await this.call('GET /v1/jobs/{id}', { id: job.id, headers: { prefer: 'wait=30' }, status: 200 });
    }
    const key = { 'idempotency-key': 'change-1042' };
    await this.call(post, { json: jobs.history, headers: key, status: 202 });
    await this.call(post, { json: jobs.history, headers: key, status: 200 });
    await this.call(post, { json: jobs.sweep, headers: key, status: 422 });
    await this.call(post, { json: jobs.sweep, headers: { 'idempotency-key': 'a b' }, status: 400 });
    await this.call(post, { json: { ...jobs.sweep, instance: 'prod' }, status: 409 });
    await this.call(post, { json: { ...jobs.sweep, instance: 'nobody' }, status: 400 });
    await this.call('POST /v1/plans', { json: jobs.sweep, status: 200 });
    await this.call('POST /v1/plans', { json: { ...jobs.sweep, instance: 'dead' }, status: 200 });
    await this.call('POST /v1/plans', { json: { ...jobs.sweep, instance: 'prod' }, status: 200 });
    await this.call('POST /v1/plans', { json: { kind: 'backup_sweep' }, status: 400 });
    for (const json of Object.values(jobs)) await this.call('POST /v1/plans', { json, status: 200 });
  }

  async reading() {
    for (const [name, id] of Object.entries(this.ids)) {
      const reported = name !== 'failing';
      for (const what of ['report', 'evidence'])
        await this.conditional(`GET /v1/jobs/{id}/${what}`, id, reported);
      await this.conditional('GET /v1/jobs/{id}', id, true);
      await this.call('GET /v1/jobs/{id}/trials', { id, status: 200 });
      await this.call('GET /v1/jobs/{id}/trials', { id, query: '?limit=2', status: 200 });
      await this.call('GET /v1/jobs/{id}/trials', { id, headers: { accept: 'text/csv' }, status: 200 });
      await this.call('GET /v1/jobs/{id}/verdict', { id, status: name === 'failing' ? 409 : 200 });
      await this.events(id);
    }
    const id = this.ids.sweep;
    await this.call('GET /v1/jobs/{id}/report', { id, headers: { accept: 'text/markdown' }, status: 200 });
    for (const one of Object.values(this.ids).filter(one => one !== this.ids.failing))
      await this.call('GET /v1/jobs/{id}/report', { id: one, headers: { accept: 'text/html' }, status: 200 });
    for (const what of ['', '/trials', '/report', '/evidence', '/verdict', '/events'])
      await this.call(`GET /v1/jobs/{id}${what}`, { status: 404 });
    await this.call('GET /v1/jobs/{id}', { id: id.toUpperCase(), status: 200 });
    await this.call('GET /v1/jobs/{id}/trials', { id, query: '?cursor=x', status: 400 });
    await this.call('GET /v1/jobs/{id}/verdict', { id, query: '?wait=301', status: 400 });
    await this.call('GET /v1/jobs/{id}', { id, headers: { prefer: 'wait=1' }, status: 200 });
    for (const query of ['', '?limit=2', '?state=succeeded', '?kind=backup_sweep', '?instance=sql01', '?label=change:CHG-1042',
      '?since=2026-01-01T00:00:00Z', '?since=2026-01-01T00:00:00%2B01:00', '?limit=2&state=succeeded'])
      await this.call('GET /v1/jobs', { query, status: 200 });
    for (const query of ['?limit=0', '?state=done', '?label=x', '?since=yesterday', '?cursor=1', '?what=1', '?limit=1&limit=2'])
      await this.call('GET /v1/jobs', { query, status: 400 });
    const compare = (base, candidate) => ({ query: `?base=${base}&candidate=${candidate}` });
    await this.call('GET /v1/compare', { ...compare(id, this.ids.race), status: 200 });
    await this.call('GET /v1/compare', { ...compare(id, this.ids.failing), status: 200 });
    await this.call('GET /v1/compare', { ...compare(id, this.ids.history), status: 200 });
    await this.call('GET /v1/compare', { ...compare(id, NOWHERE), status: 404 });
    await this.call('GET /v1/compare', { query: `?base=${id}`, status: 400 });
    for (const kind of ['backup_sweep', 'backup_throughput', 'trace_flag', 'snapshot_overhead', 'backup_history'])
      await this.call('GET /v1/trends', { query: `?instance=sql01&kind=${kind}`, status: 200 });
    await this.call('GET /v1/trends', { query: '?instance=sql01', status: 400 });
    await this.call('GET /v1/kinds', { status: 200 });
    await this.kindSchemas();
  }

  /** The schemas that GET /v1/kinds hands out take the document's examples, too. */
  async kindSchemas() {
    const { json } = await send(this.side.daemon.url, { target: '/v1/kinds' });
    const names = json.items.map(item => item.kind);
    this.side.tally.add('the kinds are those of the document', names.join() === this.side.document.tree.components.schemas.KindName.enum.join() ? [] : [names.join()]);
    for (const item of json.items) {
      const example = { kind: item.kind, instance: 'sql01', parameters: item.example };
      const at = ['components', 'schemas', 'JobDefinition'];
      this.side.tally.add(`the example of ${item.kind} fits the document`, this.side.document.faults(at, example));
    }
  }

  async conditional(name, id, there) {
    const { headers } = await this.call(name, { id, status: there ? 200 : 404 });
    if (!there) return;
    await this.call(name, { id, headers: { 'if-none-match': headers.etag }, status: 304 });
    await this.call(name, { id, headers: { 'if-none-match': `"x", W/${headers.etag}` }, status: 304, straight: true });
    await this.call(name, { id, head: true, status: 200 });
  }

  /** A stream of an ended job ends by itself, so Prism can pass it on; its blocks are held against
   * the schemas here, since no tool knows what is in them. */
  async events(id) {
    const schemas = { state: 'Job', progress: 'Job', trial: 'TrialEvent', report: 'Report' };
    const { body } = await this.call('GET /v1/jobs/{id}/events', { id, status: 200 });
    const faults = [];
    let last = -1;
    for (const block of body.toString().split('\n\n').filter(text => text.includes('data: '))) {
      const event = block.match(/^event: (.*)$/m)?.[1];
      const number = Number(block.match(/^id: (.*)$/m)?.[1] ?? NaN);
      const schema = schemas[event];
      if (!schema) faults.push(`event ${event}`);
      else faults.push(...this.side.document.faults(['components', 'schemas', schema], JSON.parse(block.match(/^data: (.*)$/m)[1]), true).map(fault => `${event} ${fault}`));
      if (Number.isNaN(number)) continue; // how far a running trial is: it is not stored, and has no id
      if (!(number > last)) faults.push(`id ${number} after ${last}`);
      last = number;
    }
    if (last < 1) faults.push('no events');
    this.side.tally.add(`the events of ${id}`, faults);
    await this.call('GET /v1/jobs/{id}/events', { id, headers: { 'last-event-id': String(last) }, status: 204 });
    await this.call('GET /v1/jobs/{id}/events', { id, headers: { 'last-event-id': 'x' }, status: 400 });
  }

  async endedJobs() {
    const retry = 'POST /v1/jobs/{id}/retry';
    const { json } = await this.call(retry, { id: this.ids.history, status: 202 });
    await this.call('GET /v1/jobs/{id}', { id: json.id, headers: { prefer: 'wait=30' }, status: 200 });
    await this.call(retry, { status: 404 });
    const key = { 'idempotency-key': 'retry-1042' };
    const first = await this.call(retry, { id: this.ids.history, headers: key, status: 202 });
    await this.call(retry, { id: this.ids.history, headers: key, status: 200 });
    await this.call(retry, { id: this.ids.failing, headers: key, status: 422 });
    await this.call('GET /v1/jobs/{id}', { id: first.json.id, headers: { prefer: 'wait=30' }, status: 200 });
    await this.call('GET /v1/verdict', { query: '?key=retry-1042', status: 200 });
    await this.call('GET /v1/verdict', { query: '?key=nobody', status: 404 });
    await this.call('GET /v1/verdict', { query: '?wait=1', status: 400 });
    await this.call('POST /v1/jobs/{id}/cancel', { id: this.ids.sweep, status: 409 });
    await this.call('POST /v1/jobs/{id}/cancel', { status: 404 });
  }

  async webhooks() {
    // Nobody listens there: deliveries fail and are tried again later.
    const json = { url: 'http://127.0.0.1:1/hooks/abcd', format: 'json', events: ['*'], secret: { env: 'SWEETSPOT_SECRET_CONTRACT' } };
    const hook = { named: 'dba-chat' };
    const put = 'PUT /v1/webhooks/{name}';
    await this.call(put, { ...hook, json, status: 201 });
    await this.call(put, { ...hook, json: { ...json, url: { env: 'SWEETSPOT_SECRET_CONTRACT' } }, status: 200 });
    await this.call(put, { ...hook, json, status: 200 });
    await this.call(put, { ...hook, json, headers: { 'if-match': '"0-0"' }, status: 412 });
    await this.call(put, { ...hook, json: { ...json, format: 'xml' }, status: 400 });
    const { headers } = await this.call('GET /v1/webhooks/{name}', { ...hook, status: 200 });
    await this.call('GET /v1/webhooks/{name}', { ...hook, headers: { 'if-none-match': headers.etag }, status: 304 });
    await this.call('GET /v1/webhooks/{name}', { status: 404 });
    await this.call('GET /v1/webhooks', { status: 200 });
    await this.call('GET /v1/webhooks', { query: '?limit=x', status: 400 });
    const delivery = await this.call('POST /v1/webhooks/{name}/test', { ...hook, status: 202 });
    await this.call('POST /v1/webhooks/{name}/test', { named: 'nobody', status: 404 });
    await this.call('POST /v1/deliveries/{id}/redeliver', { id: delivery.json.id, status: 202 });
    await this.call('POST /v1/deliveries/{id}/redeliver', { status: 404 });
    await this.call('GET /v1/webhooks/{name}/deliveries', { ...hook, status: 200 });
    await this.call('GET /v1/webhooks/{name}/deliveries', { named: 'nobody', status: 404 });
    await this.gone();
    await this.call('DELETE /v1/webhooks/{name}', { ...hook, headers: { 'if-match': '"0-0"' }, status: 412 });
    await this.call('DELETE /v1/webhooks/{name}', { named: 'nobody', status: 404 });
    await this.call('DELETE /v1/webhooks/{name}', { named: 'gone', status: 204 });
  }

  /** A receiver that answers 410 disables its webhook: then 409. */
  async gone() {
    const receiver = http.createServer((request, response) => {
      request.resume();
      response.writeHead(410).end();
    });
    await new Promise(done => receiver.listen(0, '127.0.0.1', done));
    const json = { url: `http://127.0.0.1:${receiver.address().port}/hooks`, format: 'slack' };
    await this.call('PUT /v1/webhooks/{name}', { named: 'gone', json, status: 201 });
    const { json: delivery } = await this.call('POST /v1/webhooks/{name}/test', { named: 'gone', status: 202 });
    for (let i = 0; i < 100; i++) {
      const hook = await send(this.side.daemon.url, { target: '/v1/webhooks/gone' });
      if (hook.json.disabled) break;
      await pause(100);
    }
    receiver.close();
    await this.call('POST /v1/webhooks/{name}/test', { named: 'gone', status: 409 });
    await this.call('POST /v1/deliveries/{id}/redeliver', { id: delivery.id, status: 409 });
    await this.call('GET /v1/webhooks/{name}/deliveries', { named: 'gone', query: '?limit=1', status: 200 });
  }

  /** What only a job that has not ended shows. The service stays paused from here on. */
  async waitingJobs() {
    await this.call('POST /v1/mode', { json: { mode: 'paused' }, status: 200 });
    const { json: job } = await this.call('POST /v1/jobs', { json: jobs.sweep, headers: { prefer: 'wait=1' }, status: 202 });
    const id = job.id;
    const { json: keyed } = await this.call('POST /v1/jobs', { json: jobs.sweep, headers: { 'idempotency-key': 'late-1' }, status: 202 });
    await this.call('GET /v1/verdict', { query: '?key=late-1', status: 408 });
    await this.call('POST /v1/jobs/{id}/cancel', { id: keyed.id, status: 202 });
    await this.call('GET /v1/verdict', { query: '?key=late-1', status: 409 });
    await this.call('GET /v1/jobs/{id}/verdict', { id, status: 408 });
    await this.call('GET /v1/jobs/{id}/verdict', { id, query: '?wait=1', status: 408 });
    await this.call('GET /v1/jobs/{id}/report', { id, status: 404 });
    await this.call('POST /v1/jobs/{id}/retry', { id, status: 409 });
    await this.call('DELETE /v1/instances/{name}', { status: 409 });
    await this.call('GET /v1/jobs/{id}/events', { id, straight: true, cut_ms: 300, status: 200 });
    await this.call('GET /v1/events', { straight: true, cut_ms: 300, status: 200 });
    await this.call('GET /v1/events', { straight: true, cut_ms: 300, headers: { 'last-event-id': '0' }, status: 200 });
    await this.call('GET /v1/events', { headers: { 'last-event-id': '-1' }, straight: true, status: 400 });
    const second = await this.call('POST /v1/jobs', { json: { ...jobs.sweep, not_before: '2050-01-01T00:00:00Z' }, status: 202 });
    await this.call('POST /v1/jobs/{id}/cancel', { id: second.json.id, status: 202 });
    await this.call('POST /v1/jobs/{id}/cancel', { id: second.json.id, status: 409 });
    await this.call('GET /v1/jobs/{id}/verdict', { id: second.json.id, status: 409 });
    // host and port cannot change under a job that has begun; this one has not
    await this.movedInstance();
  }

  /** A job that runs pins its server: 409 on another host or port. */
  async movedInstance() {
    const held = net.createServer(() => {});
    await new Promise(done => held.listen(0, '127.0.0.1', done));
    this.silent = held;
    const json = { ...instanceOf(held.address().port) };
    await this.call('PUT /v1/instances/{name}', { named: 'silent', json, status: 201 });
    await this.call('POST /v1/mode', { json: { mode: 'active' }, status: 200 });
    const { json: job } = await this.call('POST /v1/jobs', { json: { ...jobs.sweep, instance: 'silent' }, status: 202 });
    for (let i = 0; i < 100; i++) {
      const now = await send(this.side.daemon.url, { target: `/v1/jobs/${job.id}` });
      if (now.json.state === 'running') break;
      await pause(50);
    }
    await this.call('PUT /v1/instances/{name}', { named: 'silent', json: { ...json, port: 2 }, status: 409 });
    await this.call('GET /v1/jobs/{id}', { id: job.id, status: 200 });
    await this.call('POST /v1/mode', { json: { mode: 'paused' }, status: 200 });
    await this.call('POST /v1/jobs/{id}/cancel', { id: job.id, status: 202 });
  }

  async service() {
    for (const path of ['/livez', '/readyz', '/metrics', '/openapi.yaml', '/v1/kinds', '/v1/mode', '/v1/audit']) {
      await this.call(`GET ${path}`, { status: 200 });
      await this.call(`GET ${path}`, { head: true, status: 200 });
    }
    const page = await this.call('GET /v1/audit', { query: '?limit=1', status: 200 });
    await this.call('GET /v1/audit', { query: `?limit=1&cursor=${page.json.next_cursor}`, status: 200 });
    await this.call('GET /v1/audit', { query: '?cursor=x', status: 400 });
    await this.call('POST /v1/mode', { json: { mode: 'off' }, status: 400 });
    const { headers, body } = await send(this.side.daemon.url, { target: '/nowhere' });
    this.side.tally.add('a path that is not there is 404', this.side.document.problemFaults({ status: 404, headers, body, json: JSON.parse(body) }));
  }

  /** What every operation answers alike. */
  async generic() {
    for (const operation of this.side.document.operations) {
      const at = { path: operation.path.replace('{id}', NOWHERE).replace('{name}', 'nobody'), straight: true };
      const call = options => this.side.call(operation, { ...at, ...options });
      await call({ query: '?x=%zz', status: 400 });
      await call({ headers: { origin: 'http://elsewhere.example' }, status: 403 });
      await call({ headers: { host: 'elsewhere.example' }, status: 403 });
      await call({ headers: { accept: 'image/png' }, status: 406 });
      await call({ body: 'x'.repeat((1 << 20) + 1), headers: { 'content-type': 'application/json' }, status: 413 });
      await call({ query: `?x=${'y'.repeat(8192)}`, status: 414 });
      await call({ body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' }, status: 415 });
      await call({ body: '{}', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, status: 415 });
      await call({ headers: { 'x-long': 'y'.repeat(17000) }, status: 431 });
      await this.raw(operation, `${operation.method} ${at.path} HTTP/1.2\r\nHost: 127.0.0.1\r\n\r\n`, 400);
      await this.otherMethods(operation, at.path);
    }
  }

  async raw(operation, bytes, status) {
    const response = await sendRaw(this.side.daemon.url, bytes);
    this.side.tally.calls++;
    this.side.tally.see(operation, response.status);
    const faults = this.side.document.violations(operation, response);
    if (response.status !== status) faults.push(`wanted ${status}, got ${response.status}`);
    this.side.tally.add(JSON.stringify(bytes), faults);
  }

  async otherMethods(operation, path) {
    const { document, daemon, tally } = this.side;
    const known = document.operations.filter(it => it.path === operation.path).map(it => it.method);
    const allowed = [...known, ...(known.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join();
    for (const method of ['PATCH', 'TRACE', 'OPTIONS']) {
      const response = await send(daemon.url, { method, target: path });
      const faults = response.headers.allow?.split(', ').sort().join() === allowed ? [] : [`Allow: ${response.headers.allow}, wanted ${allowed}`];
      const options = method === 'OPTIONS';
      if (response.status !== (options ? 204 : 405)) faults.push(`status ${response.status}`);
      if (!options) faults.push(...document.violations(operation, response));
      tally.calls++;
      if (!options) tally.see(operation, response.status);
      tally.add(`${method} ${path}`, faults);
    }
  }

  /** More instances asked at once than are: the last ones are told to come again. The server that
   * is asked takes connections and says nothing. */
  async full() {
    const many = Array.from({ length: 60 }, (_, i) => i);
    const asked = ['POST /v1/instances/{name}/check', 'POST /v1/instances/{name}/reconcile', 'POST /v1/plans'];
    await Promise.all(many.map(i => this.call(asked[i % 3], {
      named: 'silent', straight: true, status: [200, 503],
      ...(i % 3 === 2 ? { json: { ...jobs.sweep, instance: 'silent' } } : {}) })));
    this.silent.close();
  }

  /** Holds answers while the service is told to stop: they come as 503. */
  async stopping(stop) {
    const daemon = this.side.daemon.url;
    const { json: { id } } = await this.call('POST /v1/jobs', { json: { ...jobs.sweep, not_before: '2050-01-01T00:00:00Z' }, status: 202 });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    await send(daemon, { target: '/readyz', agent });
    const held = [
      this.call('GET /v1/jobs/{id}', { id, headers: { prefer: 'wait=100' }, straight: true, status: 503 }),
      this.call('GET /v1/jobs/{id}/verdict', { id, query: '?wait=100', straight: true, status: 503 }),
      this.call('POST /v1/jobs', { json: jobs.sweep, headers: { prefer: 'wait=100' }, straight: true, status: 202 }),
    ];
    await pause(300);
    const ended = stop();
    await Promise.all(held);
    agent.destroy();
    const status = await ended;
    this.side.tally.add('SIGTERM ends the daemon with status 0', status === 0 ? [] : [`status ${status}`]);
  }
}

/** With tokens: 401 without one and with a wrong one, 403 when the scope is too small, 429 when there
 * were too many wrong ones. */
export async function walkScopes(side, tokens) {
  await walkTokens(side, tokens);
  for (const operation of side.document.operations.filter(it => it.scope)) { // by now there were too many
    const path = operation.path.replace('{id}', NOWHERE).replace('{name}', 'nobody');
    await side.call(operation, { path, headers: { authorization: 'Bearer wrong' }, status: 429 });
  }
}

async function walkTokens(side, tokens) {
  const order = ['read', 'submit', 'admin'];
  for (const operation of side.document.operations) {
    const path = operation.path.replace('{id}', NOWHERE).replace('{name}', 'nobody');
    const bearer = token => ({ path, headers: { authorization: `Bearer ${token}` } });
    if (!operation.scope) {
      await side.call(operation, { path, status: 200 });
      continue;
    }
    await side.call(operation, { path, status: 401 });
    await side.call(operation, { ...bearer('wrong'), status: [401, 429] });
    for (const scope of order) {
      const small = order.indexOf(scope) < order.indexOf(operation.scope);
      const options = bearer(tokens[scope]);
      if (small) await side.call(operation, { ...options, status: 403 });
      else if (!operation.path.endsWith('/events')) await scopeSuffices(side, operation, options);
    }
  }
}

async function scopeSuffices(side, operation, options) {
  const body = operation.body?.required ? { json: {} } : {};
  await side.call(operation, { ...options, ...body,
    valid: ({ status }) => ([401, 403, 429].includes(status) ? [`${status} with enough scope`] : []) });
}
