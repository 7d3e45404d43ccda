// Somebody else's server on this machine: receives webhooks, answers what a page of ours must never
// ask for, and serves pages that attack.
import { createServer } from 'node:http';
import { send } from '../contract/call.mjs';

export class Stranger {
  asked = []; // all that anybody asked it for, but its own pages
  pages = new Map(); // path -> { body, headers }

  static start() {
    const it = new Stranger();
    it.server = createServer((request, response) => it.#answer(request, response));
    return new Promise(done => it.server.listen(0, '127.0.0.1', () => {
      it.port = it.server.address().port;
      done(it);
    }));
  }

  get host() {
    return `127.0.0.1:${this.port}`;
  }

  get url() {
    return `http://${this.host}`;
  }

  put(path, body, headers = {}) {
    this.pages.set(path, { body, headers });
    return this.url + path;
  }

  /** path shows what the daemon answers to somebody who does not say where he comes from. */
  async relay(path, daemon, target, accept) {
    const { body, headers } = await send(daemon.url, { target, headers: { accept } });
    return this.put(path, body, Object.fromEntries(Object.entries(headers).filter(([name]) => /policy|^x-/.test(name))));
  }

  #answer(request, response) {
    const page = this.pages.get(request.url);
    request.resume();
    if (request.url.startsWith('/hook/')) {
      response.writeHead(500, 'no <script>hit()</script>').end('<script>hit()</script>');
      return;
    }
    if (!page) {
      if (request.url !== '/favicon.ico') this.asked.push(request.url);
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...page.headers }).end(page.body);
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
