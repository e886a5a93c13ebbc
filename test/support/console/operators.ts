/**
 * A sidecar with a decision log whose page operators log in to: a caller for each right, and listening to
 * decisions.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { ACCOUNT, type SidecarOptions } from '../sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { type Browser, type PanelSidecar, SESSION, startPanel } from './control-panel.ts'

/** Name of a caller → its rights. */
export const CALLERS = {
  root: ['everything'],
  reader: ['read'],
  revoker: ['revoke'],
  clerk: [`administer:${ACCOUNT}`],
} as const

export type CallerName = keyof typeof CALLERS

export interface OperatorsSidecar extends PanelSidecar {
  /** Path of the decision log. */
  readonly log: string
  tokenOf(caller: CallerName): string
  /** A browser in which the caller has logged in. */
  loggedInAs(caller: CallerName): Promise<Browser>
  /** Takes the caller out of the configuration, as its operator does. */
  withdraw(caller: CallerName): void
}

export async function startForOperators(options: SidecarOptions = {}): Promise<OperatorsSidecar> {
  const folder = newFolder()
  const names = Object.keys(CALLERS) as CallerName[]
  const tokenOf = (name: CallerName) => `${name}-`.padEnd(40, '0123456789')
  const fileOf = (name: CallerName) => join(folder, name)
  for (const name of names) writeFileSync(fileOf(name), tokenOf(name), { mode: 0o600 })
  const config = join(folder, 'portcullis.json')
  const callers = names.map((name) => ({ name, token_file: fileOf(name), rights: CALLERS[name] }))
  writeFileSync(config, JSON.stringify({ callers }))
  const log = join(folder, 'decisions.log')
  const panel = await startPanel({
    config,
    ...options,
    flags: { 'decision_log.file.path': log, ...options.flags },
  })
  return {
    ...panel,
    ...{ log, tokenOf },
    loggedInAs: async (name) => {
      const browser = panel.browser()
      const { status, text } = await browser.post(`${SESSION}/operator`, { token: tokenOf(name) })
      if (status !== 200) throw new Error(`no session: ${status} ${text}`)
      return browser
    },
    withdraw: (name) => rmSync(fileOf(name)),
  }
}

/** The events that a listener gets. */
export interface Heard {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Every line so far. */
  lines(): Record<string, unknown>[]
  /** Stops reading, or goes on. */
  pause(): void
  resume(): void
  /** The answer has ended. */
  readonly ended: Promise<void>
  /** Goes away. */
  leave(): void
}

/** Listens to decisions with the cookie of a browser. */
export function listen({ cookie }: Browser, port: number): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const asking: ClientRequest = request(
      {
        ...{ host: '127.0.0.1', port, path: '/console/operator/decisions', agent: false },
        headers: { 'x-portcullis-console': '1', 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }) },
      },
      (response) => {
        let text = ''
        response.on('data', (bytes: Buffer) => {
          text += bytes
        })
        const ended = new Promise<void>((over) => void response.on('close', over))
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          lines: () =>
            text
              .split('\n')
              .slice(0, -1)
              .map((line) => JSON.parse(line)),
          pause: () => void response.pause(),
          resume: () => void response.resume(),
          ended,
          leave: () => asking.destroy(),
        })
      },
    )
    asking.on('error', reject)
    whenTheFileEnds(() => void asking.destroy())
    asking.end()
  })
}
