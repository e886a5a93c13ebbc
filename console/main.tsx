/** The start of the page: finds the matrix, in the page itself or at the sidecar that served it, and draws the view. */
import { render } from 'preact'
import type { Matrix } from '../engine/index.ts'
import { type Mode, rulesOf } from './model/rules.ts'
import { CHECK_PATH, checkBody, verdictOf } from './model/verify.ts'
import { texts } from './texts/en.ts'
import { App } from './ui/app.tsx'
import type { Verify } from './ui/page.ts'

/** What the page shows, as JSON: `rules.json` of a sidecar, or a part of a page that is one file. */
interface Given {
  readonly matrix: Matrix
  readonly mode: Mode
  /** Whether the sidecar answers `Check` over HTTP. */
  readonly verify: boolean
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
  try {
    const { matrix, mode, verify } = await given()
    render(<App rules={rulesOf(matrix, mode)} verify={verify ? verifyHere : undefined} />, place)
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
