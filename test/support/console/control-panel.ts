/**
 * A sidecar whose page people log in to, and the page as a browser shows it: with a cookie, and with what a
 * browser sends.
 */

import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { askAt, type RequestHeaders, type Response } from '../identity/identity.ts'
import { TESTER } from '../sidecar/actor.ts'
import { ACCOUNT, type RunningSidecar, runSidecar, type SidecarOptions } from '../sidecar/sidecar.ts'

export const PASSWORD = 'nine green bottles'

export interface PanelSidecar {
  readonly running: RunningSidecar
  readonly port: number
  /** A browser with no cookie. */
  browser(): Browser
  /** The secret of an invitation. */
  invite(user: string, account?: string): Promise<string>
  /** A browser in which the user has accepted an invitation, with `PASSWORD`. */
  loggedIn(user: string, account?: string): Promise<Browser>
}

export const SESSION = '/console/session'

/** People of `ACCOUNT`: an owner, an administrator, and a user without a role. */
const PEOPLE = {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha'],
      control_panel_users: [
        { name: 'olga', owner: true },
        { name: 'adam', roles: ['iam.admin'] },
        { name: 'pia' },
      ],
    },
  ],
}

export async function startPanel(options: SidecarOptions = {}): Promise<PanelSidecar> {
  const running = await runSidecar({
    ...options,
    flags: {
      'http.address': '127.0.0.1:0',
      'http.connect': true,
      'http.console': true,
      'http.control_panel.idle_minutes': 30,
      ...options.flags,
    },
  })
  if (options.folder === undefined) await applyFile(running.sidecar.administration, TESTER, PEOPLE)
  const port = Number(running.sidecar.httpAddress?.split(':').at(-1))
  const panel = await running.sidecar.administration.controlPanel()
  const browser = () => new Browser(port)
  const invite = async (user: string, account = ACCOUNT) =>
    (await panel.links.create(TESTER, account, user, 'invitation')).secret.reveal()
  return {
    ...{ running, port, browser, invite },
    loggedIn: async (user, account) => {
      const shown = browser()
      const secret = await invite(user, account)
      const { status, text } = await shown.post(`${SESSION}/invitation/accept`, {
        secret,
        password: PASSWORD,
      })
      if (status !== 200) throw new Error(`no session: ${status} ${text}`)
      return shown
    },
  }
}

/**
 * Keeps the cookie as a browser does, and sends the headers of our page. Headers of a test replace them;
 * `undefined` takes one away.
 */
export class Browser {
  readonly #port: number
  readonly #origin: string
  cookie: string | undefined

  constructor(port: number, origin = `http://127.0.0.1:${port}`) {
    this.#port = port
    this.#origin = origin
  }

  get(path: string, headers: Headers = {}): Promise<Response> {
    return this.#ask('GET', path, undefined, headers)
  }

  post(path: string, body: object, headers: Headers = {}): Promise<Response> {
    return this.#ask('POST', path, body, { origin: this.#origin, ...headers })
  }

  /** A call of the contract, by its name. */
  call(name: string, request: object, headers: Headers = {}): Promise<Response> {
    return this.post(
      `/portcullis.v1.${name.includes('/') ? name : `DirectoryService/${name}`}`,
      request,
      headers,
    )
  }

  /**
   * Takes the session of another browser, also of one at another port: the name of its cookie has the port.
   */
  takeSession({ cookie }: Browser): void {
    this.cookie = cookie?.replace(/^portcullis-\d+=/, `portcullis-${this.#port}=`)
  }

  async #ask(method: string, path: string, body: object | undefined, headers: Headers): Promise<Response> {
    const sent = Object.entries<Headers[string]>({
      'x-portcullis-console': '1',
      'sec-fetch-site': 'same-origin',
      host: new URL(this.#origin).host,
      cookie: this.cookie,
      ...headers,
    }).filter((entry) => entry[1] !== undefined)
    const response = await askAt(this.#port, {
      ...{ method, path, headers: Object.fromEntries(sent) as RequestHeaders },
      ...(body !== undefined && { body }),
    })
    const [set] = [response.headers['set-cookie'] ?? []].flat()
    if (set !== undefined) this.cookie = set.includes('Max-Age=0') ? undefined : set.split(';')[0]
    return response
  }
}

type Headers = { readonly [Name in keyof RequestHeaders]: RequestHeaders[Name] | undefined }
