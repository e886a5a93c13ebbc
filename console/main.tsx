/** The start of the page: finds the matrix, in the page itself or at the sidecar that served it, and draws the view. */
import { render } from 'preact'
import type { Matrix } from '../engine/index.ts'
import { routeOf } from './model/link.ts'
import { type Mode, rulesOf } from './model/rules.ts'
import { CHECK_PATH, checkBody, verdictOf } from './model/verify.ts'
import { texts } from './texts/en/explorer.ts'
import { App } from './ui/app.tsx'
import type { PanelEntry } from './ui/control-panel.ts'
import type { Verify } from './ui/page.ts'
import { hideSecret, takeSecret } from './ui/secret.ts'

/** What the page shows, as JSON: `rules.json` of a sidecar, or a part of a page that is one file. */
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
  load: async (rules) => (await import('./panel/index.tsx')).openControlPanel(rules, takeSecret),
  routeHere: () => {
    hideSecret()
    return routeOf(location.hash)
  },
}

const verifyHere: Verify = async (api, headers, circumstances) => {
  try {
    const response = await fetch(CHECK_PATH, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: checkBody(api, headers, circumstances),
      credentials: 'omit',
    })
    return verdictOf(response.status, await response.json())
  } catch {
    return { type: 'error', message: '' }
  }
}

async function given(): Promise<Given> {
  const inside = document.getElementById('rules')?.textContent
  if (inside) return JSON.parse(inside) as Given
  const response = await fetch('rules.json', { credentials: 'omit' })
  if (!response.ok) throw new Error(`status ${response.status}`)
  return (await response.json()) as Given
}

async function start(place: HTMLElement): Promise<void> {
  document.documentElement.lang = texts.language
  if (SERVED) hideSecret()
  try {
    const { matrix, mode, verify, controlPanel } = await given()
    const panel = SERVED && controlPanel ? entry : undefined
    render(
      <App rules={rulesOf(matrix, mode)} verify={verify ? verifyHere : undefined} entry={panel} />,
      place,
    )
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
