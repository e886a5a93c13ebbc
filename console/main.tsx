/**
 * The start of the page: finds the matrix, in the page itself or at the sidecar that served it, and draws the
 * view.
 */
import { render } from 'preact'
import type { Matrix } from '../engine/index.ts'
import { routeOf } from './model/link.ts'
import { OWN_HEADER } from './model/own-header.ts'
import { type Mode, rulesOf } from './model/rules.ts'
import { CHECK_PATH, checkBody, verdictOf } from './model/verify.ts'
import { texts } from './texts/en/explorer.ts'
import { App } from './ui/app.tsx'
import type { PanelEntry } from './ui/control-panel.ts'
import type { Verify } from './ui/page.ts'
import { hideSecret, takeSecret } from './ui/secret.ts'
import type { AskRules, Shown } from './ui/use-rules.ts'

/** The content of the page, as JSON: `rules.json` of a sidecar, or a part of a page that is one file. */
interface Given {
  readonly matrix: Matrix
  readonly mode: Mode
  /** Whether the sidecar answers `Check` over HTTP. */
  readonly verify: boolean
  /** Whether the sidecar has the control panel. */
  readonly controlPanel?: boolean
}

/** Whether this is built for a sidecar: a page that is one file has no trace of the control panel. */
declare const SERVED: boolean

const entry: PanelEntry = {
  load: async (changed) => (await import('./panel/index.tsx')).openControlPanel(changed, takeSecret),
  routeHere: () => {
    hideSecret()
    return routeOf(location.hash)
  },
}

/**
 * The headers by which the sidecar knows the page, beside a session. The token of a caller who opened the
 * page with it is nowhere else.
 */
let known: Readonly<Record<string, string>> = OWN_HEADER

const verifyHere: Verify = async (api, headers, circumstances) => {
  try {
    const response = await fetch(CHECK_PATH, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...known },
      body: checkBody(api, headers, circumstances),
      credentials: 'same-origin',
    })
    return verdictOf(response.status, await response.json())
  } catch {
    return { type: 'error', message: '' }
  }
}

const shown = ({ matrix, mode, verify, controlPanel = false }: Given): Shown => ({
  rules: rulesOf(matrix, mode),
  verify: verify ? verifyHere : undefined,
  controlPanel,
})

const askRules: AskRules = async (callerToken) => {
  const headers = callerToken ? { ...OWN_HEADER, Authorization: `Bearer ${callerToken}` } : known
  const response = await fetch('rules.json', { headers, credentials: 'same-origin' })
  if (!response.ok) return (await import('./ui/locked.tsx')).refusedBy(response)
  known = headers
  return shown((await response.json()) as Given)
}

/** The page as one file has what it shows in itself. */
const inside = (): Shown => shown(JSON.parse(document.getElementById('rules')?.textContent ?? '') as Given)

async function start(place: HTMLElement): Promise<void> {
  document.documentElement.lang = texts.language
  if (SERVED) hideSecret()
  try {
    const first = SERVED ? await askRules() : inside()
    const panel = SERVED && first.controlPanel ? entry : undefined
    render(<App first={first} ask={SERVED ? askRules : undefined} entry={panel} />, place)
  } catch {
    render(
      <main class="task">
        <h1>{texts.broken.title}</h1>
        <p role="alert">{texts.broken.matrix}</p>
      </main>,
      place,
    )
  }
}

void start(document.getElementById('app') as HTMLElement)
