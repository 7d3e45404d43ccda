// Chromium, and what is counted while it looks at pages.
import { chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Nothing but the loopback can be reached from it. */
export const startBrowser = () => chromium.launch({ executablePath: CHROMIUM, args: [
  ...(process.getuid() === 0 ? ['--no-sandbox'] : []), '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'] });

/** A page that counts what it should never do. own: the origin that may be asked. */
export class Watch {
  executions = 0; // of hit()
  dialogs = 0;
  reports = 0; // of the Content-Security-Policy
  foreign = 0; // requests to other origins
  errors = 0; // of scripts
  popups = 0;
  loads = 0;
  downloads = 0;
  told = [];

  static async open(browser, own) {
    const watch = new Watch();
    const context = await browser.newContext({ acceptDownloads: false });
    watch.own = own;
    await context.exposeBinding('hit', () => watch.#count('executions', 'hit()'));
    await context.exposeBinding('violated', (_, text) => watch.#count('reports', text));
    await context.addInitScript(() => document.addEventListener('securitypolicyviolation',
      it => window.violated(`${it.effectiveDirective} ${it.blockedURI} ${it.sample}`)));
    context.on('request', it => watch.#see(it.url()));
    watch.page = await context.newPage();
    context.on('page', () => watch.#count('popups', 'a new page'));
    watch.page.on('dialog', it => {
      watch.#count('dialogs', it.message());
      return it.dismiss();
    });
    watch.page.on('pageerror', it => watch.#count('errors', it.message));
    watch.page.on('console', it => {
      if (/content.security.policy/i.test(it.text())) watch.#count('reports', it.text());
    });
    return watch;
  }

  #count(what, text) {
    this[what]++;
    this.told.push(`${what}: ${text} on ${this.page?.url()}`);
  }

  #see(url) {
    if (/^https?:/.test(url) && new URL(url).origin !== this.own) this.#count('foreign', url);
  }

  /** What has been counted, and must be 0. */
  get bad() {
    return this.executions + this.dialogs + this.reports + this.foreign + this.errors + this.popups;
  }

  /** Opens a page, moves the mouse over it, and waits for what an element that fails to load would
   * do. Resolves with whether it is shown; else it was offered as a download. */
  async visit(url, accept) {
    this.loads++;
    await this.page.setExtraHTTPHeaders(accept ? { accept } : {});
    try {
      await this.page.goto(url, { timeout: 20000 });
    } catch (error) {
      if (!/Download is starting|ERR_ABORTED/.test(error.message)) throw error;
      this.downloads++;
      return false;
    }
    await this.settle();
    return true;
  }

  async settle() {
    try {
      await this.page.mouse.move(200, 200);
      await this.page.evaluate(() => new Promise(done => setTimeout(done, 10)));
    } catch (error) {
      if (!/context was destroyed|navigat/i.test(error.message)) throw error; // it went elsewhere, which is counted
    }
  }

  /** What of a page's elements and attributes can run or reach out. */
  aliens() {
    return this.page.evaluate(() => {
      const found = [...document.querySelectorAll('script,iframe,frame,object,embed,img,image,link,form,base,video,audio,[href^="javascript"]')];
      const handlers = [...document.querySelectorAll('*')].filter(it => [...it.attributes].some(one => one.name.startsWith('on')));
      return [...found, ...handlers].map(it => it.outerHTML.slice(0, 200));
    });
  }

  close() {
    return this.page.context().close();
  }
}
