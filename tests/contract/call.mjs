// One call: sent straight to the daemon or through Prism, its answer held against the document, its
// route and status counted.
import http from 'node:http';
import net from 'node:net';

const TIMEOUT_MS = 60000;

// A connection a call: one that is kept may be closed by its other end just when it is used again.
const once = new http.Agent({ keepAlive: false });

/** Sends one request; resolves with {status, headers, body, json}. A stream is cut after cut_ms. */
export function send(base, { method = 'GET', target = '/', headers = {}, body, cut_ms = 0, agent = once } = {}) {
  const url = new URL(base);
  return new Promise((done, failed) => {
    const chunks = [];
    const request = http.request({ host: url.hostname, port: url.port, method, path: target, headers, agent }, response => {
      const end = () => {
        clearTimeout(timer);
        const whole = Buffer.concat(chunks);
        done({ status: response.statusCode, headers: response.headers, body: whole, json: parsed(whole) });
        if (cut_ms > 0) request.destroy();
      };
      const timer = cut_ms > 0 ? setTimeout(end, cut_ms) : null;
      response.on('data', chunk => chunks.push(chunk));
      response.on('end', end);
      response.on('error', cut_ms > 0 ? () => {} : failed);
    });
    request.setTimeout(TIMEOUT_MS, () => request.destroy(new Error(`${method} ${target}: no answer within ${TIMEOUT_MS} ms`)));
    request.on('error', failed);
    request.end(body);
  });
}

/** Bytes as they are, for what no client would send; resolves with the status. */
export function sendRaw(base, bytes) {
  const url = new URL(base);
  return new Promise((done, failed) => {
    let text = '';
    const socket = net.connect(Number(url.port), url.hostname, () => socket.write(bytes));
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
    socket.on('error', failed);
    socket.on('data', data => {
      text += data;
      const head = text.indexOf('\r\n\r\n');
      const length = Number(text.match(/content-length: (\d+)/i)?.[1] ?? 0);
      if (head < 0 || Buffer.byteLength(text) < head + 4 + length) return;
      socket.destroy();
      const body = Buffer.from(text.slice(head + 4));
      const headers = Object.fromEntries(text.slice(0, head).split('\r\n').slice(1).map(line => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }));
      done({ status: Number(text.slice(9, 12)), headers, body, json: parsed(body) });
    });
  });
}

function parsed(body) {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Counts what was covered and what failed. */
export class Tally {
  passed = 0;
  calls = 0;
  failures = [];
  covered = new Map(); // "GET /v1/jobs" -> Set of statuses

  see(operation, status) {
    const key = `${operation.method} ${operation.path}`;
    if (!this.covered.has(key)) this.covered.set(key, new Set());
    this.covered.get(key).add(String(status));
  }

  /** faults: of one check, as sentences; none: it passed. */
  add(what, faults) {
    if (faults.length === 0) {
      this.passed++;
      return;
    }
    this.failures.push({ what, faults });
    if (this.failures.length <= 40) console.log(`FAILED ${what}\n  ${faults.slice(0, 8).join('\n  ')}`);
  }
}

/** A daemon and what stands before it. */
export class Side {
  constructor(document, tally, daemon, prism) {
    Object.assign(this, { document, tally, daemon, prism });
  }

  /** Calls an operation. options: path (filled in), query, headers, json or body, straight (not
   * through Prism), head, and what is expected: status (a number or a list), refused (any 4xx).
   * Resolves with the answer; faults are in the tally. */
  async call(operation, options = {}) {
    const target = (options.path ?? operation.path) + (options.query ?? '');
    const headers = { ...options.headers };
    let body = options.body;
    if (options.json !== undefined) {
      body = JSON.stringify(options.json);
      headers['content-type'] ??= 'application/json';
    }
    if (body !== undefined) headers['content-length'] = Buffer.byteLength(body);
    const method = options.head ? 'HEAD' : operation.method;
    // Prism reads and writes anew what it passes on: requests that are no JSON, HEAD (which it does
    // not take for a GET), answers of 304 (their type says JSON, and it misses the body) and streams
    // that do not end go straight to the daemon, and are held against the document here only. So does
    // what may be refused and is not ASCII: Prism ends when it puts such a complaint into a header.
    const straight = options.straight || options.head || headers['if-none-match'] || !this.prism || (options.refused && /[^\x20-\x7e]/.test(body));
    const base = straight ? this.daemon.url : this.prism.url;
    const what = `${method} ${target.slice(0, 300)} ${JSON.stringify(options.headers ?? {}).slice(0, 300)}${typeof body === 'string' && body.length < 3000 ? ` ${body}` : ''}`;
    this.tally.calls++;
    let response;
    try {
      response = await send(base, { method, target, headers, body, cut_ms: options.cut_ms });
    } catch (error) {
      this.tally.add(what, [`no answer${straight ? '' : ' through Prism'}: ${error.message}`]);
      return { status: 0, headers: {}, body: Buffer.alloc(0), json: {} };
    }
    this.tally.see(operation, response.status);
    const faults = this.document.violations(operation, response, { head: options.head });
    if (!straight) faults.push(...prismFaults(response));
    if (response.status >= 500 && response.status !== 503 && ![options.status].flat().includes(response.status))
      faults.push(`status ${response.status}`);
    if (options.status !== undefined && ![options.status].flat().includes(response.status))
      faults.push(`wanted status ${options.status}, got ${response.status}`);
    if (options.refused && (response.status < 400 || response.status > 499))
      faults.push(`${options.refused}, and was taken with ${response.status}`);
    if (options.valid) faults.push(...options.valid(response));
    const told = faults.length > 0 ? ` -> ${response.status} ${response.body.toString().slice(0, 400)}` : '';
    this.tally.add(what + told, faults);
    return response;
  }
}

/** What Prism says of the answer; what it says of the request is for whoever sent it. */
function prismFaults(response) {
  const text = response.headers['sl-violations'];
  if (!text) return [];
  if (text.startsWith('Too many')) return text.includes('["response"') ? [`Prism: ${text.slice(0, 300)}`] : [];
  return JSON.parse(text)
    .filter(it => it.location[0] === 'response' && it.severity === 'Error')
    .map(it => `Prism: ${it.location.join('/')} ${it.message}`);
}

export const prismRequestFaults = response =>
  (response.headers['sl-violations'] ?? '').startsWith('[')
    ? JSON.parse(response.headers['sl-violations']).filter(it => it.location[0] === 'request')
    : [];
